"""What a page shows, as frozen values: a store and a scope in, a view out. No Streamlit here, no query elsewhere."""
