// Pointer, wheel and keyboard on the timeline.

const KEY_PAN = 0.15;
const KEY_ZOOM = 1.5;

function connectTimeline(timeline, tooltip, onChoose) {
  connectWheel(timeline);
  connectPointer(timeline, tooltip, onChoose);
  connectKeys(timeline);
}

// The wheel zooms once the pointer has moved over the timeline: a page that scrolls below a resting pointer
// keeps scrolling. With Ctrl it always zooms; sideways it pans; beside the lanes it scrolls them.
function connectWheel(timeline) {
  const {window: area, view} = timeline;
  let armed = false;
  let last = null;
  addEventListener("scroll", () => { armed = false; }, {passive: true});
  area.addEventListener("focus", () => { armed = true; });
  area.addEventListener("pointermove", (event) => {
    if (last && (last.x !== event.clientX || last.y !== event.clientY)) armed = true;
    last = {x: event.clientX, y: event.clientY};
  });
  area.addEventListener("pointerleave", () => { armed = false; last = null; });
  area.addEventListener("wheel", (event) => {
    const {x} = placeIn(area, event);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      view.pan(event.deltaX / timeline.plotWidth);
    } else if (event.ctrlKey || event.metaKey || (armed && x >= GUTTER)) {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
      const factor = Math.exp(Math.max(-240, Math.min(240, event.deltaY * lines)) * 0.0025);
      view.zoom(factor, timeline.time(Math.max(GUTTER, x)));
    }
  }, {passive: false});
}

// A drag zooms to its span, with Shift or the middle button it moves the view; a click chooses a job.
function connectPointer(timeline, tooltip, onChoose) {
  const {window: area, view} = timeline;
  const band = document.createElement("div");
  band.className = "band";
  band.hidden = true;
  area.append(band);
  let drag = null;

  area.addEventListener("pointerdown", (event) => {
    const place = placeIn(area, event);
    if (event.button > 1 || place.x >= area.clientWidth) return;
    drag = {...place, pan: event.shiftKey || event.button === 1, from: view.from, top: area.scrollTop, moved: false};
    if (event.button === 1) event.preventDefault();
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    const place = placeIn(area, event);
    if (!drag) return hover(place, event);
    tooltip.hide();
    drag.moved ||= Math.abs(place.x - drag.x) > 3 || (drag.pan && Math.abs(place.y - drag.y) > 3);
    if (drag.pan) {
      const from = drag.from - ((place.x - drag.x) / timeline.plotWidth) * view.span;
      view.show(Math.max(0, Math.min(view.end - view.span, from)), Math.max(0, Math.min(view.end - view.span, from)) + view.span);
      area.scrollTop = drag.top - (place.y - drag.y);
    } else if (drag.moved) {
      const [left, right] = dragged(place);
      band.hidden = false;
      band.style.cssText = `left: ${left}px; width: ${right - left}px; top: ${area.scrollTop}px; height: ${area.clientHeight}px`;
    }
  });
  area.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const place = placeIn(area, event);
    const [left, right] = dragged(place);
    if (!drag.moved) onChoose(timeline.attemptAt(place.x, place.y));
    else if (!drag.pan && right - left > 3) view.show(timeline.time(left), timeline.time(right));
    stop();
  });
  area.addEventListener("pointercancel", stop);
  area.addEventListener("pointerleave", () => { tooltip.hide(); setHovered(-1); });
  area.addEventListener("dblclick", () => view.all());

  function dragged(place) {
    const within = (x) => Math.min(GUTTER + timeline.plotWidth, Math.max(GUTTER, x));
    return [within(Math.min(drag.x, place.x)), within(Math.max(drag.x, place.x))];
  }

  function stop() {
    drag = null;
    band.hidden = true;
  }

  function hover(place, event) {
    const attempt = timeline.attemptAt(place.x, place.y);
    setHovered(attempt);
    if (attempt < 0) tooltip.hide();
    else tooltip.show(timeline.shownSide, attempt, event.clientX, event.clientY);
  }

  function setHovered(attempt) {
    if (timeline.hovered === attempt) return;
    timeline.hovered = attempt;
    view.redraw(timeline.draw);
  }
}

function connectKeys(timeline) {
  const {window: area, view} = timeline;
  const keys = {
    ArrowLeft: (event) => view.pan(event.shiftKey ? -1 : -KEY_PAN),
    ArrowRight: (event) => view.pan(event.shiftKey ? 1 : KEY_PAN),
    ArrowUp: () => { area.scrollTop -= 60; },
    ArrowDown: () => { area.scrollTop += 60; },
    "+": () => view.zoom(1 / KEY_ZOOM),
    "=": () => view.zoom(1 / KEY_ZOOM),
    "-": () => view.zoom(KEY_ZOOM),
    0: () => view.all(),
    Home: () => view.show(0, view.span),
    End: () => view.show(view.end - view.span, view.end),
  };
  area.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
  });
}

function placeIn(area, event) {
  const box = area.getBoundingClientRect();
  return {x: event.clientX - box.left - area.clientLeft, y: event.clientY - box.top - area.clientTop};
}
