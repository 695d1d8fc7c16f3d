// Reads the page's data: base64 of deflated columns (packing.py describes the layout).

async function inflated(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The header, with a map of its columns.
function readData(bytes) {
  const headerLength = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerLength)));
  const columns = new Map();
  let at = 4 + headerLength;
  for (const {name, length, width} of header.columns) {
    columns.set(name, integers(bytes.subarray(at, at + length * width), length, width));
    at += length * width;
  }
  return {...header, columns};
}

function integers(bytes, length, width) {
  const values = new Int32Array(length);
  for (let plane = 0; plane < width; plane++) {
    const offset = plane * length;
    const shift = plane * 8;
    for (let i = 0; i < length; i++) values[i] |= bytes[offset + i] << shift;
  }
  for (let i = 0; i < length; i++) values[i] = (values[i] >>> 1) ^ -(values[i] & 1);
  return values;
}

function summed(differences) {
  const values = new Int32Array(differences.length);
  let sum = 0;
  for (let i = 0; i < values.length; i++) values[i] = sum += differences[i];
  return values;
}

// Names from their templates (texts, and counts of digits) and columns of numbers; packing.py describes them.
function namesOf({templates, columns}) {
  const numbers = templates.map((parts) => parts.filter((part) => typeof part === "number").map(() => 0));
  const fields = [];
  while (columns.has(`names.${fields.length}`)) fields.push(columns.get(`names.${fields.length}`));
  const next = fields.map(() => 0);
  return Array.from(columns.get("names.template"), (template) => {
    let name = "";
    let place = 0;
    for (const part of templates[template]) {
      if (typeof part === "string") {
        name += part;
      } else {
        numbers[template][place] += fields[place][next[place]++];
        name += String(numbers[template][place++]).padStart(part, "0");
      }
    }
    return name;
  });
}
