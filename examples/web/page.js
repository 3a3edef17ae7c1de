// Measures three sorts of the same keys, checks their answers, and shows the keys, the times and a plot.
//
// for each length:  leave out each way that would take too long
//                   make keys, draw them
//                   sort a copy with Uint32Array.sort; its checked answer is the reference
//                   for each way:  runs that are not measured; they find how many copies a run sorts
//                   some rounds:   each way sorts a copy; its answer must be the reference
//                   median of each way → table and plot
//
// The address may have parameters:
//   lengths=10,12   exponents of two: the lengths that "Measure all lengths" measures
//   pattern=few     a name in PATTERNS
//   software=1      allows an adapter that runs on the CPU
//   auto=1          starts the measurement of all lengths
//
// A test reads data-state of the root element: loading, idle, busy, done, stopped or failed. "done" means that every answer was right.

import load, { Cpu, Gpu, Keys } from "./polysort_web_page.js";

const SHORTEST = 10, LONGEST = 24; // exponents of two
const RUN_MS = 5; // The time of a run of short lists: 50 steps of a clock that counts 0.1 ms.
const RUN_KEYS = 2 ** 20; // The most keys that a run of short lists sorts.
const ROUNDS_MS = 1500, LEAST_ROUNDS = 3, MOST_ROUNDS = 11; // The rounds of one length last about ROUNDS_MS.
const LONGEST_MS = 10_000; // A way that needs more time for one sort is left out.
const MOST_PIXELS = 2 ** 18; // The most keys that a picture shows.

const WAYS = {
    webgpu: { label: "WebGPU", mark: "circle", dash: "" },
    wasm: { label: "WebAssembly", mark: "square", dash: "8 4" },
    browser: { label: "Uint32Array", mark: "triangle", dash: "2 4" },
};
const PATTERNS = {
    random: { label: "random", fill: random },
    few: { label: "16 different values", fill: keys => { random(keys); for (let i = 0; i < keys.length; i++) keys[i] = keys[i] & 0xf0000000 | 0x08000000; } },
    reversed: { label: "reversed", fill: keys => { for (let i = 0; i < keys.length; i++) keys[i] = (keys.length - i - 0.5) / keys.length * 2 ** 32; } },
};

const STOPPED = new Error("stopped");
const at = id => document.getElementById(id);
const asked = new URLSearchParams(location.search);
let memory; // The memory of the module.
let ways = []; // The ways that work in this browser: { id, allocate(len, lists) }.
let stopping = false; // The user pressed "Stop".
let results = new Map(); // By exponent: what measureLength returns.

// If an async call of the module panics, the browser reports an event, and the promise of the call never settles. `crashed` rejects then.
const crashed = new Promise((_, reject) => {
    addEventListener("error", event => reject(event.error ?? new Error(event.message)));
    addEventListener("unhandledrejection", event => reject(event.reason));
});
crashed.catch(error => fail(error));

main().catch(fail);

async function main() {
    const lengths = (asked.get("lengths") ?? "").split(",").filter(text => text).map(Number);
    if (!lengths.every(bits => Number.isInteger(bits) && bits >= SHORTEST && bits <= LONGEST)) {
        throw new Error(`The parameter "lengths" of the address must list whole numbers from ${SHORTEST} to ${LONGEST}.`);
    }
    for (let bits = SHORTEST; bits <= LONGEST; bits++) at("length").add(new Option(count(bits), bits));
    for (const [id, { label }] of Object.entries(PATTERNS)) at("pattern").add(new Option(label, id));
    at("length").value = lengths.at(-1) ?? 16;
    at("pattern").value = Object.hasOwn(PATTERNS, asked.get("pattern")) ? asked.get("pattern") : "random";
    at("software").checked = asked.get("software") === "1";

    memory = (await load()).memory;
    await openWays();

    const every = lengths.length ? lengths : Array.from({ length: LONGEST - SHORTEST + 1 }, (_, i) => SHORTEST + i);
    at("controls").addEventListener("submit", event => { event.preventDefault(); measure([Number(at("length").value)]); });
    at("all").addEventListener("click", () => measure(every));
    at("stop").addEventListener("click", () => { stopping = true; });
    at("pattern").addEventListener("change", showKeys);
    at("length").addEventListener("change", showKeys);
    at("software").addEventListener("change", async () => { state("loading", "Opening the GPU …"); await openWays(); ready(); });
    addEventListener("resize", showPlot);
    showKeys();
    ready();
    if (asked.get("auto") === "1") await measure(every);
}

function ready() {
    state("idle", "Press “Sort” to sort the keys of one length.");
}

// Opens the backends. If there is no WebGPU, the page says why, and the other ways remain.
async function openWays() {
    const cpu = Cpu.open();
    at("name-wasm").textContent = `polysort on the CPU: ${cpu.name()}`;
    ways = [{ id: "wasm", allocate: inModule(cpu) }, { id: "browser", allocate: inScript }];
    at("no-gpu").hidden = true;
    try {
        const { gpu, adapter } = await openGpu(at("software").checked);
        at("name-webgpu").textContent = `polysort on the GPU: ${adapter} ${gpu.name()}`;
        ways.unshift({ id: "webgpu", allocate: inModule(gpu) });
    } catch (error) {
        at("name-webgpu").textContent = "not available";
        const paragraph = text => Object.assign(document.createElement("p"), { textContent: text });
        at("no-gpu").replaceChildren(paragraph(`WebGPU is not available. ${error.message}`), paragraph("The other two ways work."));
        at("no-gpu").hidden = false;
    }
}

// Returns the backend, and the name of the adapter as far as the browser tells it: its maker and its architecture.
async function openGpu(software) {
    if (!isSecureContext) throw new Error("Browsers allow it only on pages that come over https or from this computer (localhost).");
    if (!navigator.gpu) throw new Error("This browser does not have it, or it is turned off: navigator.gpu is missing.");
    const adapter = await navigator.gpu.requestAdapter();
    if (!adapter) {
        throw new Error("The browser has it, but offers no adapter. The reason may be the driver, a list of blocked drivers, or a setting of the browser.");
    }
    try {
        const gpu = await Promise.race([Gpu.open(software), crashed]);
        return { gpu, adapter: [adapter.info?.vendor, adapter.info?.architecture].filter(Boolean).join(" ") };
    } catch (error) {
        const hint = software ? "" : " To use an adapter that runs on the CPU, turn on “Allow a software GPU”.";
        throw new Error(`The backend reports: ${error.message}.${hint}`);
    }
}

// Keys in the memory of the module. The memory may move when it grows, so each view is made anew.
function inModule(backend) {
    return (len, lists) => {
        const keys = new Keys(len, lists);
        return {
            view: () => new Uint32Array(memory.buffer, keys.address(), len * lists),
            sort: () => backend.sort(keys),
            free: () => keys.free(),
        };
    };
}

// Keys in an array of JavaScript.
function inScript(len, lists) {
    const keys = new Uint32Array(len * lists);
    return {
        view: () => keys,
        sort: () => { for (let from = 0; from < keys.length; from += len) keys.subarray(from, from + len).sort(); },
        free: () => {},
    };
}

async function measure(lengths) {
    if (document.documentElement.dataset.state === "busy") return;
    stopping = false;
    const pattern = at("pattern").value;
    at("caption").textContent = `Keys: ${PATTERNS[pattern].label}. The last column compares the answer with that of Uint32Array.`;
    results = new Map();
    showResults();
    const last = {}; // By way: its last length and time.
    try {
        for (const [index, bits] of lengths.entries()) {
            const which = lengths.length > 1 ? ` (length ${index + 1} of ${lengths.length})` : "";
            state("busy", `Sorting ${count(bits)} keys${which} …`);
            // Of the first length, nothing is known.
            const isSlow = ({ id }) => last[id] && last[id].ms * 2 ** (bits - last[id].bits) > LONGEST_MS;
            const progress = share => { at("progress").value = (index + share) / lengths.length; };
            const result = await measureLength(2 ** bits, pattern, ways.filter(way => !isSlow(way)), progress);
            for (const way of ways.filter(isSlow)) result[way.id] = { isSlow: true };
            for (const [id, { ms }] of Object.entries(result)) if (ms) last[id] = { bits, ms };
            results.set(bits, result);
            showResults();
        }
        const faults = [...results].flatMap(([bits, result]) =>
            Object.entries(result).filter(([, { fault }]) => fault).map(([id, { fault }]) => `${WAYS[id].label}, ${count(bits)} keys: ${fault}`));
        if (faults.length) throw new Error(faults.join(" "));
        const names = ways.map(({ id }) => WAYS[id].label);
        state("done", `Done. ${names.slice(0, -1).join(", ")} and ${names.at(-1)} gave the same answers.`);
    } catch (error) {
        if (error === STOPPED) state("stopped", "Stopped.");
        else fail(error);
    }
}

// Returns { id of the way → { ms, speed, fault } }. `ms` is the median time of one sort. A way with a fault has no time and no speed.
async function measureLength(len, pattern, ways, progress) {
    const input = makeKeys(len, pattern);
    draw("before", input, `Before the sort: ${caption(len)}`);
    draw("after", null, "After the sort");
    progress(0);
    await frame();
    const reference = input.slice().sort();
    const fault = faultOf(reference, input);
    if (fault) throw new Error(`Uint32Array.sort of this browser gave a wrong answer: ${fault}`);

    const result = {}, copies = {};
    for (const { id, allocate } of ways) {
        result[id] = { times: [], fault: null };
        try {
            copies[id] = await warmUp(lists => timed(allocate, input, lists, reference), Math.ceil(RUN_KEYS / len));
        } catch (error) {
            if (error === STOPPED) throw error;
            result[id].fault = error.message;
        }
    }
    const works = ways.filter(({ id }) => !result[id].fault);
    const round = works.reduce((sum, { id }) => sum + copies[id].lists * copies[id].ms, 0);
    const rounds = Math.max(LEAST_ROUNDS, Math.min(Math.floor(ROUNDS_MS / round), MOST_ROUNDS)) | 1;
    for (let done = 0; done < rounds; done++) {
        for (const { id, allocate } of works) {
            if (result[id].fault) continue;
            progress((done + 1) / (rounds + 1));
            try {
                result[id].times.push(await timed(allocate, input, copies[id].lists, reference));
            } catch (error) {
                if (error === STOPPED) throw error;
                result[id].fault = error.message;
            }
        }
    }
    draw("after", reference, `After the sort: ${caption(len)}`);
    for (const each of Object.values(result)) {
        if (each.fault) continue;
        each.ms = each.times.sort((a, b) => a - b)[each.times.length >> 1];
        each.speed = len / each.ms / 1000;
    }
    progress(1);
    await frame();
    return result;
}

// Returns how many copies of the list a run sorts, at most `most`, and the time of one. The runs also let the browser compile the sort.
async function warmUp(run, most) {
    await run(1);
    for (let lists = 1; ;) {
        const ms = await run(lists);
        const wanted = Math.min(Math.ceil(RUN_MS / Math.max(ms, 0.0001)), most);
        if (wanted <= 2 * lists) return { lists, ms };
        lists = Math.min(wanted, 16 * lists); // The first times are too coarse for a larger step.
    }
}

// Sorts `lists` copies of the input, checks each, and returns the time of one in ms.
async function timed(allocate, input, lists, reference) {
    await frame();
    const keys = allocate(input.length, lists);
    try {
        for (let list = 0, view = keys.view(); list < lists; list++) view.set(input, list * input.length);
        const start = performance.now();
        const pending = keys.sort();
        if (pending) await Promise.race([pending, crashed]);
        const time = performance.now() - start;
        const view = keys.view();
        for (let i = 0, j = 0; i < view.length; i++) {
            if (view[i] !== reference[j]) throw new Error(`key ${j} is ${view[i]}, but must be ${reference[j]}.`);
            j = j + 1 === reference.length ? 0 : j + 1;
        }
        return time / lists;
    } finally {
        keys.free();
    }
}

// Returns what is wrong with the reference, or null. It must ascend and have the keys of the input.
function faultOf(sorted, input) {
    for (let i = 1; i < sorted.length; i++) {
        if (sorted[i - 1] > sorted[i]) return `key ${i} is smaller than the key before it.`;
    }
    return sorted.length === input.length && fingerprint(sorted) === fingerprint(input) ? null : "its keys are not those of the input.";
}

// The sum of the hashes of all keys: it does not depend on their order.
function fingerprint(keys) {
    let sum = 0;
    for (let i = 0; i < keys.length; i++) {
        let hash = Math.imul(keys[i] ^ keys[i] >>> 16, 0x45d9f3b);
        hash = Math.imul(hash ^ hash >>> 15, 0x2c1b3c6d);
        sum = sum + (hash ^ hash >>> 16) | 0;
    }
    return sum;
}

function makeKeys(len, pattern) {
    const keys = new Uint32Array(len);
    PATTERNS[pattern].fill(keys);
    return keys;
}

function random(keys) {
    const most = 2 ** 14; // 65,536 bytes: getRandomValues takes no more.
    for (let from = 0; from < keys.length; from += most) crypto.getRandomValues(keys.subarray(from, from + most));
}

// Lets the browser draw and react. A hidden page draws no frames, so the wait for one has an end.
function frame() {
    return new Promise((resolve, reject) => {
        const go = () => stopping ? reject(STOPPED) : resolve();
        const late = setTimeout(go, 100);
        requestAnimationFrame(() => { clearTimeout(late); setTimeout(go); });
    });
}

// What the page shows.

function state(name, text) {
    document.documentElement.dataset.state = name;
    at("status").textContent = text;
    at("status").classList.toggle("bad", name === "failed");
    const busy = name === "busy" || name === "loading";
    for (const id of ["length", "pattern", "software", "sort", "all"]) at(id).disabled = busy || !memory;
    at("stop").disabled = name !== "busy";
    if (name !== "busy") at("progress").value = name === "done" ? 1 : 0;
}

function fail(error) {
    const panicked = error instanceof WebAssembly.RuntimeError;
    state("failed", `This failed: ${error.message}${panicked ? ". The browser's console says why. Reload the page to go on." : ""}`);
    console.error(error);
}

function count(bits) {
    return `2${String(bits).replace(/\d/g, digit => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])} = ${(2 ** bits).toLocaleString("en")}`;
}

function caption(len) {
    const keys = len.toLocaleString("en");
    return len <= MOST_PIXELS ? `${keys} keys, a pixel for each.` : `${keys} keys, a pixel for every ${len / MOST_PIXELS}th.`;
}

function showKeys() {
    const len = 2 ** at("length").value;
    draw("before", makeKeys(len, at("pattern").value), `Before the sort: ${caption(len)}`);
    draw("after", null, "After the sort");
}

// Colors by the upper 8 bits of a key: from dark violet to yellow. They become brighter, so that the order shows without hues too.
const STOPS = [[45, 10, 85], [50, 75, 150], [35, 145, 140], [115, 200, 90], [255, 230, 70]]; // red, green, blue
const COLORS = Uint32Array.from({ length: 256 }, (_, i) => {
    const place = i / 255 * (STOPS.length - 1), stop = Math.min(Math.floor(place), STOPS.length - 2);
    const [red, green, blue] = STOPS[stop].map((from, channel) => from + (STOPS[stop + 1][channel] - from) * (place - stop));
    return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
});

// Draws keys in columns, from the left. `null` empties the picture.
function draw(id, keys, text) {
    const canvas = at(id), context = canvas.getContext("2d");
    at(`${id}-text`).textContent = text;
    canvas.setAttribute("aria-label", keys ? text : "No keys yet");
    if (!keys) {
        context.clearRect(0, 0, canvas.width, canvas.height);
        return;
    }
    const bits = Math.log2(Math.min(keys.length, MOST_PIXELS)), step = keys.length / 2 ** bits;
    const height = 2 ** Math.floor(bits / 2), width = 2 ** Math.ceil(bits / 2);
    Object.assign(canvas, { width, height });
    const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    for (let x = 0, key = 0; x < width; x++) {
        for (let y = 0; y < height; y++, key += step) pixels[y * width + x] = COLORS[keys[key] >>> 24];
    }
    context.putImageData(image, 0, 0);
}

function showResults() {
    at("speed-section").hidden = results.size === 0;
    at("table").querySelectorAll("tbody").forEach(body => body.remove());
    const number = value => value.toLocaleString("en", { maximumSignificantDigits: 3 });
    const cell = (row, text, kind, name) => {
        const made = row.appendChild(document.createElement(kind));
        made.textContent = text;
        if (name) made.className = name;
        return made;
    };
    for (const [bits, result] of results) {
        const body = at("table").createTBody();
        Object.assign(cell(body.insertRow(), `${count(bits)} keys`, "th", "text"), { colSpan: 5, scope: "rowgroup" });
        for (const id of Object.keys(WAYS).filter(id => result[id])) {
            const { ms, speed, fault, isSlow } = result[id], row = body.insertRow();
            Object.assign(row.dataset, { bits, way: id, answer: fault ? "wrong" : isSlow ? "none" : "same" });
            Object.assign(cell(row, WAYS[id].label, "th", "text way"), { scope: "row" });
            const ratio = result.browser.ms / ms;
            for (const value of fault || isSlow ? ["–", "–", "–"] : [number(ms), number(speed), ratio ? `${number(ratio)} ×` : "–"]) cell(row, value, "td");
            if (isSlow) cell(row, `left out: would take more than ${LONGEST_MS / 1000} s`, "td", "text soft");
            else cell(row, fault ? `✗ ${fault}` : "✓ same", "td", fault ? "text wrong" : "text same");
        }
    }
    showPlot();
}

function curve(id, path) {
    return `<path class="curve ${id}-ink" style="fill: none" d="${path}" stroke-dasharray="${WAYS[id].dash}"/>`;
}

function mark(id, x, y) {
    const shape = {
        circle: `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z`,
        square: `M${x - 4.5} ${y - 4.5}h9v9h-9z`,
        triangle: `M${x} ${y - 6}l6 10h-12z`,
    };
    return `<path class="${id}-ink" d="${shape[WAYS[id].mark]}"/>`;
}

// Draws the speeds of at least two lengths.
function showPlot() {
    const lengths = [...results.keys()];
    at("plot-figure").hidden = lengths.length < 2;
    if (lengths.length < 2) return;
    const right = at("plot").clientWidth - 12, left = 52, top = 12, height = 340, bottom = height - 44;
    const speeds = [...results.values()].flatMap(result => Object.values(result)).map(({ speed }) => speed).filter(Number.isFinite);
    // The axis begins and ends at 1, 2 or 5 times a power of ten.
    const steps = [];
    for (let power = -6; power <= 6; power++) steps.push(10 ** power, 2 * 10 ** power, 5 * 10 ** power);
    const low = steps.findLast(step => step <= Math.min(...speeds)), high = steps.find(step => step > Math.max(...speeds));
    const few = Math.log10(high / low) > 2.5; // label powers of ten only
    const shown = steps.filter(step => step >= low && step <= high && (!few || Number.isInteger(Math.round(Math.log10(step) * 100) / 100)));
    const [first, last] = [Math.min(...lengths), Math.max(...lengths)];
    const x = bits => left + 10 + (right - left - 20) * (bits - first) / (last - first);
    const y = speed => bottom - (bottom - top) * Math.log(speed / low) / Math.log(high / low);
    const parts = [];
    for (const step of shown) {
        parts.push(`<path class="grid" d="M${left} ${y(step)}H${right}"/><text x="${left - 8}" y="${y(step) + 4}" text-anchor="end">${step.toLocaleString("en")}</text>`);
    }
    const apart = Math.ceil(lengths.length * 38 / (right - left)); // lengths from one label to the next
    for (const [index, bits] of lengths.entries()) {
        if (index % apart === 0) parts.push(`<text x="${x(bits)}" y="${bottom + 20}" text-anchor="middle">${count(bits).split(" ")[0]}</text>`);
    }
    parts.push(`<text x="${(left + right) / 2}" y="${bottom + 40}" text-anchor="middle">number of keys</text>`);
    const legend = [];
    for (const [id, { label }] of Object.entries(WAYS)) {
        const points = lengths.filter(bits => results.get(bits)[id]?.speed).map(bits => [x(bits), y(results.get(bits)[id].speed)]);
        if (!points.length) continue;
        parts.push(curve(id, `M${points.join("L")}`), ...points.map(([x, y]) => mark(id, x, y)));
        legend.push(`<li><svg width="44" height="16" aria-hidden="true">${curve(id, "M2 8H42")}${mark(id, 22, 8)}</svg>${label}</li>`);
    }
    at("legend").innerHTML = legend.join("");
    const box = `viewBox="0 0 ${right + 12} ${height}"`;
    at("plot").innerHTML = `<svg ${box} role="img" aria-label="Plot of million keys per second by the number of keys. The table below has the numbers.">${parts.join("")}</svg>`;
}
