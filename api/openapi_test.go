package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// contract is openapi.json, to which every answer of this package's tests is held (see harness.do).
//
// Only what OpenAPI 3.0 and 3.1 share is asked of kin-openapi for answers, since its checker of JSON
// Schema 2020-12 compiles the schema again for each value: enum and not const, a list of types for null.
type contract struct{ doc *openapi3.T }

// parsed is the document, parsed once for all tests: it takes longer than many of them. None changes it.
var parsed = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(Document()) })

func readContract(t testing.TB) contract {
	t.Helper()
	doc, err := parsed()
	check(t, err)
	return contract{doc}
}

// find is the path item that a request's path belongs to, with its template; nil for none.
func (k contract) find(method, path string) (string, *openapi3.PathItem) {
	exact := k.doc.Paths.Value(path)
	if exact != nil && (method == "HEAD" || exact.Operations()[method] != nil) { // before one with a gap that it fits
		return path, exact
	}
	asked := strings.Split(path, "/")
	for template, item := range k.doc.Paths.Map() {
		parts := strings.Split(template, "/")
		fits := func(i int) bool { return parts[i] == asked[i] || strings.HasPrefix(parts[i], "{") && asked[i] != "" }
		if len(parts) != len(asked) || template == path {
			continue
		}
		if !slices.ContainsFunc(indices(parts), func(i int) bool { return !fits(i) }) {
			return template, item
		}
	}
	return "", exact
}

func indices(parts []string) []int {
	all := make([]int, len(parts))
	for i := range parts {
		all[i] = i
	}
	return all
}

// allows tells what openapi.json has against an answer: nil for nothing, and for paths that are not of
// /v1. A request that was done must be one that the document allows, as well.
func (k contract) allows(method, target, body string, a answer) error {
	if method == "OPTIONS" && a.status == 204 && len(a.body) == 0 { // to a browser, of which OpenAPI knows nothing
		return nil
	}
	path := target
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		path = target[:end]
	}
	if !strings.HasPrefix(path, "/v1/") {
		return nil
	}
	_, item := k.find(method, path)
	// A target with a control character is no URI: fasthttp reads no path from it at all.
	if item == nil || strings.ContainsFunc(target, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return k.outside(method, a, "NotFound", "MethodNotAllowed")
	}
	var op *openapi3.Operation
	switch method {
	case "HEAD":
		op = item.Get
	case "GET", "POST", "PUT", "DELETE":
		op = item.GetOperation(method)
	}
	if op == nil {
		return k.outside(method, a, "MethodNotAllowed")
	}
	response := op.Responses.Status(a.status)
	if response == nil {
		return errors.New("the status is not listed")
	}
	if err := judged(method, a, response.Value); err != nil {
		return err
	}
	if a.status < 300 && op.RequestBody != nil && body != "" {
		var sent any
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			return fmt.Errorf("the request was done, and is no JSON: %w", err)
		}
		if err := op.RequestBody.Value.Content.Get("application/json").Schema.Value.VisitJSON(sent); err != nil {
			return fmt.Errorf("the request was done, and is not allowed: %w", err)
		}
	}
	return nil
}

// outside judges an answer that belongs to no operation: one of the named responses, or what every
// request can be answered that is too large or no readable HTTP.
func (k contract) outside(method string, a answer, names ...string) error {
	var reasons error
	for _, name := range append(names, "InvalidRequest", "LengthRequired", "PayloadTooLarge") {
		response := k.doc.Components.Responses[name].Value
		code := response.Content.Get("application/json").Examples
		if _, named := code[string(a.code())]; !named && len(a.body) > 0 {
			continue
		}
		err := judged(method, a, response)
		if err == nil {
			return nil
		}
		reasons = errors.Join(reasons, err)
	}
	return cmp.Or(reasons, errors.New("the document tells of no such answer"))
}

// judged compares an answer with one response of the document: headers, and the body but of a HEAD.
func judged(method string, a answer, response *openapi3.Response) error {
	for name, header := range response.Headers {
		value := a.header.Get(name)
		switch {
		case value == "" && header.Value.Required:
			return fmt.Errorf("no header %s", name)
		case value == "":
			continue
		}
		var typed any = value
		if header.Value.Schema.Value.Type.Is("integer") {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
			typed = number
		}
		if err := header.Value.Schema.Value.VisitJSON(typed); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	content := response.Content.Get("application/json")
	if method == "HEAD" || content == nil {
		if len(a.body) > 0 {
			return errors.New("a body where none belongs")
		}
		return nil
	}
	if kind := a.header.Get("Content-Type"); kind != "application/json" {
		return fmt.Errorf("Content-Type %q", kind)
	}
	var told any
	if err := json.Unmarshal(a.body, &told); err != nil {
		return err
	}
	if err := content.Schema.Value.VisitJSON(told); err != nil {
		return err
	}
	return sameMessage(told, content.Example)
}

// elsewhere are the messages of answers that the document has no example for.
var elsewhere = []string{"Sign the transaction and submit the signature.", "Waiting before it can be signed. The owner can cancel it until then.", "The key was shown when it was created. It can't be shown again.", "The test was sent, but not delivered.",
	"You already have this price alert."}

// sameMessage compares the message of a success with the one of its example; numbers and plural forms may differ.
func sameMessage(told, example any) error {
	answer, _ := told.(map[string]any)
	shown, _ := example.(map[string]any)
	if answer["success"] != true || shown == nil {
		return nil
	}
	plain := func(message any) string {
		text, _ := message.(string)
		return strings.Replace(countLike.ReplaceAllString(text, "N"), "N delivery ", "N deliveries ", 1)
	}
	if got, want := plain(answer["message"]), plain(shown["message"]); got != want && !slices.Contains(elsewhere, got) {
		return fmt.Errorf("the message is %q, and in the example %q", got, want)
	}
	return nil
}

var countLike = regexp.MustCompile("[0-9]+")

func TestTheDocumentIsOpenAPI(t *testing.T) {
	k := readContract(t)
	// Its examples are checked against their schemas too.
	check(t, k.doc.Validate(context.Background(), openapi3.EnableExamplesValidation()))
	if !k.doc.IsOpenAPI31OrLater() || k.doc.Servers[0].URL != "/" {
		t.Errorf("version %s at %s", k.doc.OpenAPI, k.doc.Servers[0].URL)
	}
	var loose map[string]any
	check(t, json.Unmarshal(Document(), &loose))
	closed(t, "", loose["components"].(map[string]any)["schemas"])
}

// TestIdempotentOperationsDescribeTheirConflicts: what takes an Idempotency-Key can answer that it is used by another request, or by one that is not over.
func TestIdempotentOperationsDescribeTheirConflicts(t *testing.T) {
	checked := 0
	for path, item := range readContract(t).doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Parameters.GetByInAndName("header", "Idempotency-Key") == nil {
				continue
			}
			checked++
			for _, status := range []int{409, 422} {
				if op.Responses.Status(status) == nil {
					t.Errorf("%s %s does not list %d", method, path, status)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d operations take an Idempotency-Key", checked)
	}
}

// closed finds objects that would let a field pass that nobody described.
func closed(t *testing.T, at string, value any) {
	object, _ := value.(map[string]any)
	if object["type"] == "object" {
		if _, said := object["additionalProperties"]; !said {
			t.Errorf("%s: additionalProperties is not said", at)
		}
	}
	for name, inner := range object {
		closed(t, at+"/"+name, inner)
	}
}

// TestTheDocumentNamesEveryEndpoint: each registered route of /v1 is described, with the key that opens
// it, and nothing else is.
func TestTheDocumentNamesEveryEndpoint(t *testing.T) {
	r := newHarness(t)
	described := map[string]*openapi3.Operation{}
	for template, item := range r.contract.doc.Paths.Map() {
		for method, op := range item.Operations() {
			described[method+" "+strings.NewReplacer("{", ":", "}", "").Replace(template)] = op
		}
	}
	opened := map[string]endpoint{"GET " + documentPath: {}, "POST " + portalPath: {}, "DELETE " + portalPath: {}}
	for _, e := range r.server.endpoints() {
		opened[e.method+" "+e.pattern] = e
	}
	seen := 0
	for _, route := range r.server.app.GetRoutes(true) {
		if route.Method == "HEAD" || !strings.HasPrefix(route.Path, "/v1") {
			continue
		}
		seen++
		name := route.Method + " " + route.Path
		op, e := described[name], opened[name]
		if op == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		if _, ok := opened[name]; !ok {
			t.Errorf("%s is not in the table of endpoints", name)
		}
		delete(described, name)
		scope, security := cmp.Or(string(e.scope), "any"), ""
		if e.run == nil {
			scope = "none"
		}
		if op.Extensions["x-scope"] != scope {
			t.Errorf("%s needs %s, described as %v", name, scope, op.Extensions["x-scope"])
		}
		for _, one := range *op.Security {
			for scheme := range one {
				security += scheme
			}
		}
		want := ""
		if e.run != nil {
			want = map[wallet.KeyKind]string{"": "apiKeybotToken", wallet.APIKey: "apiKey", wallet.BotKey: "botToken"}[e.kind]
		}
		if e.portal() || name == "DELETE "+portalPath {
			want += "portalSession"
		}
		if security != want {
			t.Errorf("%s is opened by %q, described as %q", name, want, security)
		}
		if slices.Contains(route.Params, "id") && !strings.Contains(name, "transactions") {
			t.Errorf("%s: an id of what?", name)
		}
	}
	for name := range described {
		t.Errorf("%s is described, and does not exist", name)
	}
	if seen != len(opened) || seen < 20 {
		t.Errorf("%d routes, %d endpoints", seen, len(opened))
	}
}

// TestEveryOperationTellsWhatAllCanBeAnswered: nothing that can befall any request is left out.
func TestEveryOperationTellsWhatAllCanBeAnswered(t *testing.T) {
	k := readContract(t)
	for template, item := range k.doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + template
			always := []int{400, 413, 500, 503}
			if op.Extensions["x-scope"] != "none" {
				always = append(always, 401, 429)
			}
			writes := op.Extensions["x-scope"] != "none" && method != "GET" // into the store
			if writes {
				always = append(always, 409)
			}
			for _, status := range always {
				if op.Responses.Status(status) == nil {
					t.Errorf("%s: no %d", name, status)
				}
			}
			headers := op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
			if headers != (writes && method == "POST") {
				t.Errorf("%s: Idempotency-Key is described: %v", name, headers)
			}
			if op.Parameters.GetByInAndName("header", "X-Request-Id") == nil || op.Summary == "" || op.OperationID == "" || len(op.Tags) != 1 {
				t.Errorf("%s lacks something", name)
			}
			if body := op.RequestBody; body != nil && body.Value.Content.Get("application/json").Example == nil {
				t.Errorf("%s: no example of a request", name)
			}
		}
	}
}

func TestTheDocumentsCodesAreOurs(t *testing.T) {
	k := readContract(t)
	listed := map[wallet.Code]bool{}
	for _, code := range k.doc.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum {
		listed[wallet.Code(code.(string))] = true
	}
	for _, code := range wallet.Codes() {
		if !listed[code] {
			t.Errorf("%s is not in the document", code)
		}
		delete(listed, code)
	}
	for code := range listed {
		t.Errorf("%s is no code of ours", code)
	}
	table, english := refusals(), englishTexts(t)
	for template, item := range k.doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if status < "400" {
					continue
				}
				for code, example := range response.Value.Content.Get("application/json").Examples {
					known := table[wallet.Code(code)]
					told := example.Value.Value.(map[string]any)["error"].(map[string]any)
					if strconv.Itoa(known.status) != status || told["code"] != code || told["message"] != english(known.message) {
						t.Errorf("%s %s: %s of %s is %+v, the table says %+v", method, template, code, status, told, known)
					}
				}
			}
		}
	}
}

// TestTheDocumentsListsAndLimitsAreOurs: what stands twice stands alike.
func TestTheDocumentsListsAndLimitsAreOurs(t *testing.T) {
	k := readContract(t)
	schema := func(name, property string) *openapi3.Schema {
		return k.doc.Components.Schemas[name].Value.Properties[property].Value
	}
	same := func(what string, enum []any, names []string) {
		t.Helper()
		var listed []string
		for _, one := range enum {
			listed = append(listed, one.(string))
		}
		slices.Sort(listed)
		slices.Sort(names)
		if !slices.Equal(listed, names) {
			t.Errorf("%s: %q, ours are %q", what, listed, names)
		}
	}
	for _, name := range []string{"Notifications", "NotificationsRequest"} {
		same(name, schema(name, "events").Items.Value.Enum, wallet.CategoryNames())
	}
	for _, name := range []string{"AppEvents", "AppEventsRequest"} {
		same(name, schema(name, "events").Items.Value.Enum, wallet.AppEventNames())
	}
	bots, platform := wallet.SubscriptionsOf(wallet.BotKey), wallet.SubscriptionsOf(wallet.APIKey)
	same("events of bots", schema("BotWebhookRequest", "events").Items.Value.Enum, bots)
	same("events of webhooks", schema("WebhookRequest", "events").Items.Value.Enum, platform)
	same("events to change to", schema("WebhookChange", "events").Items.Value.Enum, platform)
	every := slices.Concat(bots, platform)
	slices.Sort(every)
	same("events of a record", schema("Webhook", "events").Items.Value.Enum, slices.Compact(every))
	var scopes []string
	for _, scope := range wallet.Scopes() {
		scopes = append(scopes, string(scope))
	}
	same("scopes", schema("Key", "scopes").Items.Value.Enum, scopes)
	for _, status := range k.doc.Components.Schemas["TransactionStatus"].Value.Enum {
		if !wallet.Status(status.(string)).Known() {
			t.Errorf("%s is no status", status)
		}
	}
	for what, got := range map[string]struct{ document, ours uint64 }{
		"message":         {*schema("MessageRequest", "message").MaxLength, maxMessage},
		"command":         {*schema("CommandRequest", "command").MaxLength, maxCommand},
		"events":          {*schema("NotificationsRequest", "events").MaxItems, maxEvents},
		"page":            {*schema("Transactions", "transactions").MaxItems, largestPage},
		"webhooks":        {*schema("Webhooks", "webhooks").MaxItems, handlers.MaxWebhooks},
		"deliveries":      {*schema("Deliveries", "deliveries").MaxItems, largestPage},
		"waiting":         {uint64(*schema("WebhookHealth", "waiting").Max), handlers.MaxWaiting},
		"grace":           {uint64(*schema("SecretRotation", "grace_seconds").Max), handlers.LongestSecretGrace},
		"Idempotency-Key": {*k.doc.Components.Parameters["Idempotency-Key"].Value.Schema.Value.MaxLength, maxIdempotencyKey},
	} {
		if got.document != got.ours {
			t.Errorf("%s: %d, ours is %d", what, got.document, got.ours)
		}
	}
}

// TestEveryEndOfAMessageIsDescribed: what Telegram can make of it, and a replay that says so. The harness
// holds each answer to the document.
func TestEveryEndOfAMessageIsDescribed(t *testing.T) {
	r := newHarness(t)
	r.bot.awaited = make(chan string, 1)
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	post := func(key string) answer {
		return r.do("POST", "/v1/telegram/send-message", `{"chat_id":"1001","message":"Hello"}`,
			"Authorization", "Bearer "+token, "Content-Type", "application/json", "Idempotency-Key", key)
	}
	for _, end := range []struct {
		outcome store.SendResult
		status  int
		code    wallet.Code
	}{
		{store.SendResult{MessageID: 7}, 200, ""},
		{store.SendResult{Blocked: true}, 403, wallet.BotBlocked},
		{store.SendResult{Refusal: "can't parse entities"}, 400, wallet.InvalidRequest},
		{store.SendResult{}, 502, wallet.TelegramError},
	} {
		key := "message " + strconv.Itoa(end.status)
		answered := make(chan answer, 1)
		go func() { answered <- post(key) }()
		r.ends(end.outcome)
		r.want(<-answered, end.status, end.code, "")
	}
	if a := post("message 200"); a.status != 200 || a.header.Get("Idempotency-Replayed") != "true" || a.field("data", "message_id") != 7.0 {
		t.Errorf("the same again: %d %s", a.status, a.body)
	}
}

func TestTheDocumentIsServedToEverybodyAndKept(t *testing.T) {
	r := newHarness(t)
	a := r.do("GET", documentPath, "")
	tag := a.header.Get("ETag")
	if a.status != 200 || string(a.body) != string(Document()) || tag == "" || !strings.Contains(a.header.Get("Cache-Control"), "public") {
		t.Fatalf("%d, ETag %q, Cache-Control %q", a.status, tag, a.header.Get("Cache-Control"))
	}
	for header, status := range map[string]int{
		tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, "": 200, tag[1 : len(tag)-1]: 200,
	} {
		a := r.do("GET", documentPath, "", "If-None-Match", header)
		if a.status != status || status == 304 && len(a.body) > 0 || a.header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d with %d bytes", header, a.status, len(a.body))
		}
	}
	if a := r.do("HEAD", documentPath, ""); a.status != 200 || len(a.body) > 0 || a.header.Get("Content-Length") != strconv.Itoa(len(document)) {
		t.Errorf("HEAD: %d, Content-Length %s", a.status, a.header.Get("Content-Length"))
	}
	r.want(r.do("POST", documentPath, "{}"), http.StatusMethodNotAllowed, wallet.MethodNotAllowed, "")
}
