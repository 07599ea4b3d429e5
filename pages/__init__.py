"""One script a page, run by path from the router in workbench.app; no package imports a page."""
