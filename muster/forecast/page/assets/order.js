// Searching and sorting by time.

// Sorts indices by an integer time: a typed array of keys sorts many times faster than objects.
function orderByTime(indices, timeOf) {
  const keys = new Float64Array(indices.length);
  let least = 0; // a time may be negative
  for (const index of indices) least = Math.min(least, timeOf(index));
  for (let i = 0; i < keys.length; i++) keys[i] = (timeOf(indices[i]) - least) * indices.length + i;
  keys.sort();
  return Int32Array.from(keys, (key) => indices[key % indices.length]);
}

// The first index in [low, high) at which the predicate holds, if it holds from there on.
function firstWhere(low, high, holds) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
