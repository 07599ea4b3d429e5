// Words that stand out too little from what lies behind them (WCAG 2 AA: 4.5 to 1, large ones 3 to 1), each kind once.
// Not asked of icons, of what is disabled, of what is not shown yet, and of a value that floats over a slider's thumb.
() => {
  const EXEMPT = "style, script, title, [hidden], :disabled, [aria-disabled=true] *, [data-testid=stIconMaterial], [data-testid*=ThumbValue], [data-testid*=ThumbValue] *, [data-testid=stWidgetLabel]:has(+ * :disabled) *";
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const colour = (css) => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = css; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (a, b) => [...[0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])), 1];
  const light = ([r, g, b]) => {
    const of = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * of(r) + 0.7152 * of(g) + 0.0722 * of(b);
  };
  const above = (node) => node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  const chain = (node) => { const found = []; for (let n = node; n; n = above(n)) found.push(getComputedStyle(n)); return found; };
  const behind = (styles) => styles.map((s) => colour(s.backgroundColor)).reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]);
  const faint = {};
  const look = (root) => {
    for (const node of root.querySelectorAll("*")) {
      if (node.shadowRoot) look(node.shadowRoot);
      const words = [...node.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent).join("").trim();
      const box = node.getBoundingClientRect();
      if (!words || !box.width || !box.height || node.matches(EXEMPT) || node.closest(EXEMPT)) continue;
      const styles = chain(node), [own] = styles, opacity = styles.reduce((all, s) => all * Number(s.opacity), 1);
      if (own.visibility === "hidden" || !opacity) continue;
      const ground = behind(styles), [r, g, b, a] = colour(own.color), pair = [light(over([r, g, b, a * opacity], ground)), light(ground)];
      const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05), size = parseFloat(own.fontSize);
      if (ratio < (size >= 24 || (size >= 18.66 && own.fontWeight >= 700) ? 3 : 4.5)) faint[`${node.tagName} ${own.color} ${ratio.toFixed(2)}`] ||= words.slice(0, 60);
    }
  };
  look(document);
  return faint;
}
