package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox"
	"purser/sandbox/telegram"
)

// The same path against a product that serves for real, its world in this process: what was said to
// Telegram can be read, and axe looks at the screens.
func TestScreensAreAccessibleAndNoMiniApp(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	world := harness.World(t, 100*time.Millisecond)
	purser := harness.NewProduct(t, program, world)
	purser.Start()
	var end walked
	play(t, "journey.mjs", settings{Chat: world.TelegramURL(), Page: purser.URL + "/w/", Profiles: profiles(t),
		Executable: executable, Look: true}, nil, &end)

	t.Run("ScreensAreAccessible", func(t *testing.T) {
		for _, f := range end.Findings {
			t.Error(f)
		}
		if len(end.Looked) < 4*15 {
			t.Errorf("axe looked at %d screens only: %q", len(end.Looked), end.Looked)
		}
	})
	t.Run("NoMiniApp", func(t *testing.T) {
		noMiniAppIn(t, world)
		for _, page := range []string{purser.URL + "/w/", world.TelegramURL() + "/"} {
			for address, source := range sources(t, page) {
				if strings.Contains(source, "telegram-web-app") || strings.Contains(source, "telegram.org") || strings.Contains(source, "web_app") {
					t.Errorf("%s serves a Mini App", address)
				}
			}
		}
	})
	purser.Stop()
}

func noMiniAppIn(t *testing.T, world *sandbox.World) {
	t.Helper()
	seen := map[string]int{}
	for _, call := range world.Telegram.Calls() {
		seen[call.Method]++
		raw, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(raw)), "web_app") {
			t.Errorf("%s speaks of a web_app: %s", call.Method, raw)
		}
	}
	for _, method := range []string{"sendMessage", "sendPhoto", "editMessageText", "setMyCommands", "answerCallbackQuery"} {
		if seen[method] == 0 {
			t.Errorf("no %s was called: %v", method, seen)
		}
	}
	if strings.Contains(string(must(json.Marshal(world.Telegram.Messages(telegram.Alice)))), "web_app") {
		t.Error("a button of Alice's chat opens a Mini App")
	}
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

// reference finds what a page loads: by an attribute, by an import, and the signing page's catalogues by their names.
var reference = regexp.MustCompile(`(?:src|href)="([^"#]+)"|from ['"]([^'"]+)['"]|\b([a-z]{2}\.[\w-]{43}\.json)\b`)

// sources fetches a page and everything that it loads. What stands in the page itself (data:) is part of its source.
func sources(t *testing.T, page string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for queue := []string{page}; len(queue) > 0; queue = queue[1:] {
		address := queue[0]
		if _, known := found[address]; known {
			continue
		}
		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", address, answer.Status, err)
		}
		found[address] = string(body)
		for _, match := range reference.FindAllStringSubmatch(string(body), -1) {
			next, err := answer.Request.URL.Parse(match[1] + match[2] + match[3])
			if err != nil {
				t.Fatal(err)
			}
			if next.Scheme != "data" {
				queue = append(queue, next.String())
			}
		}
	}
	if len(found) < 10 {
		t.Fatalf("%s loads %d files only", page, len(found))
	}
	return found
}
