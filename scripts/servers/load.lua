-- For wrk: asks for the answers to the numbers 0 to 99 in turn, and compares them with a file that has one answer a line.

local threads = {}
local expected = {}
local number = 0
wrong = 0

function setup(thread)
    table.insert(threads, thread)
end

function init(arguments)
    for line in io.lines(arguments[1]) do
        expected[line] = true
    end
end

function request()
    number = (number + 1) % 100
    return wrk.format("GET", "/answers?number=" .. number)
end

function response(status, _, body)
    if status ~= 200 or not expected[body] then
        wrong = wrong + 1
    end
end

-- Prints the numbers of requests, of failed requests and of wrong answers; then latencies in microseconds: the median,
-- the 99th percentile, the longest.
function done(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
    local wrong = 0
    for _, thread in ipairs(threads) do
        wrong = wrong + thread:get("wrong")
    end
    io.write(string.format("RESULT %d %d %d %d %d %d\n", summary.requests, failed, wrong, latency:percentile(50),
        latency:percentile(99), latency.max))
end
