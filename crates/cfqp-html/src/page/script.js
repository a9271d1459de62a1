(function () {
  "use strict";
  // values under the pointer
  var tip = document.getElementById("tip");
  document.addEventListener("pointermove", function (event) {
    var over = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (!over) { tip.style.display = "none"; return; }
    tip.textContent = over.getAttribute("data-tip");
    tip.style.display = "block";
    var x = event.clientX + 14, y = event.clientY + 14;
    if (x + tip.offsetWidth > window.innerWidth - 8) { x = Math.max(8, event.clientX - tip.offsetWidth - 14); }
    if (y + tip.offsetHeight > window.innerHeight - 8) { y = event.clientY - tip.offsetHeight - 14; }
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  });
  // one unit at a time; without this script all are shown
  var units = Array.prototype.slice.call(document.querySelectorAll(".unit"));
  var place = document.getElementById("chooser");
  if (!place || units.length < 2) { return; }
  var label = document.createElement("label"), select = document.createElement("select");
  label.textContent = "Show unit ";
  units.forEach(function (unit, i) { select.add(new Option(unit.getAttribute("data-name"), i)); });
  select.add(new Option("all " + units.length + " units", "all"));
  label.appendChild(select);
  var next = document.createElement("button");
  next.type = "button";
  next.textContent = "Next unit";
  function show() {
    units.forEach(function (unit, i) {
      unit.style.display = select.value === "all" || String(i) === select.value ? "" : "none";
    });
  }
  next.addEventListener("click", function () {
    select.value = String(((parseInt(select.value, 10) || 0) + 1) % units.length);
    show();
  });
  select.addEventListener("change", show);
  place.appendChild(label);
  place.appendChild(next);
  show();
})();
