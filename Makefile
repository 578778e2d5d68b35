# Targets for people and for .ci/run. `make test` on a fresh Debian machine with Go, Node and npm
# installs what else the tests need. It takes no result from Go's cache, which does not see what Node and
# Chromium read. `go test ./...` alone runs what it can and says what it left out.

NODE_DIRS := $(patsubst %/package-lock.json,%,$(shell git ls-files '*package-lock.json'))
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT := $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build test race bench bench-binary staticcheck deps fuzz

build:
	go build -trimpath -o purser .

# Debian's chromium-headless-shell for the pages: Chromium without its windows takes less than half of the time. Where
# it is not to be had, the tests take the Chromium or Chrome that is there. python3 is for a snippet of the docs, npm
# packages (by lock file) are the oracles.
deps:
	@command -v chromium-headless-shell >/dev/null || { $(APT) chromium-headless-shell; } || \
		command -v chromium || command -v chromium-browser || command -v google-chrome
	@command -v python3 >/dev/null || { $(APT) python3; }
	@for d in $(NODE_DIRS); do \
		if [ ! -d $$d/node_modules ] || [ $$d/package-lock.json -nt $$d/node_modules/.package-lock.json ]; then \
			echo "npm ci in $$d"; (cd $$d && npm ci --no-audit --no-fund --loglevel=error) || exit 1; \
		fi; \
	done

# Packages are begun in this order: the slowest first, so that none of them runs alone at the end. They wait more than
# they work (browsers, processes that are killed and started again), hence one more at once than there are processors. Tests collect garbage
# as seldom as purser does (GOGC).
SLOWEST := ./signer ./e2e/crash ./e2e/browser ./api ./e2e/clients ./chat ./webhooks

test: deps
	GOGC=400 CI=true go test -count=1 -p $$(($$(nproc) + 1)) -parallel 8 -timeout 25m $(SLOWEST) ./...

# Short counts under the race detector. The packages that drive a built binary, a browser or Node have nothing in their own
# process to race with; those that only compute have one goroutine.
NO_RACE := e2e/.*|signer|pages|chart|config|locale|terminal|wallet|sandbox/market|sandbox/shop
race: deps
	GOGC=400 CI=true go test -race -count=1 -short -p $$(($$(nproc) + 1)) -parallel 8 -timeout 25m ./api ./chat ./webhooks $$(go list ./... | grep -vE '^purser/($(NO_RACE))$$')

# The garbage collector is set as purser's main sets it.
bench:
	GOGC=400 GOMEMLIMIT=512MiB go test -run "^$$" -bench . -timeout 30m . ./api ./bot ./chart ./chat ./store/bolt ./chain ./market ./settle ./signer ./webhooks

# The built binary over sockets, as its users meet it.
bench-binary:
	GOGC=400 go test -run "^$$" -bench . -benchtime 3x -timeout 30m ./e2e/bench

staticcheck:
	go run $(STATICCHECK) ./...

# Every fuzz target, half a minute each.
fuzz:
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r f; do \
		grep -oE '^func (Fuzz[A-Za-z0-9]+)' $$f | cut -d' ' -f2 | while read -r target; do \
			echo "== $$(dirname $$f) $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 30s ./$$(dirname $$f) || exit 1; \
		done || exit 1; \
	done
