package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"purser/quota"
)

// ordered is a JSON object whose members keep the order of the text. A Go map would lose the order, which the page shows.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON implements json.Unmarshaler. It reads the object member by member.
func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value T
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("%v: %w", name, err)
		}
		*o = append(*o, entry[T]{fmt.Sprint(name), value})
	}
	return nil
}

// get returns the value of a member; ok is false if there is none.
func (o ordered[T]) get(name string) (value T, ok bool) {
	i := slices.IndexFunc(o, func(e entry[T]) bool { return e.Name == name })
	if i < 0 {
		return value, false
	}
	return o[i].Value, true
}

// The parts of an OpenAPI document that are shown.
type (
	// document is an OpenAPI 3.1 document, reduced to what the page shows.
	document struct {
		Info struct {
			Title       string `json:"title"`
			Version     string `json:"version"`
			Summary     string `json:"summary"`
			Description string `json:"description"`
		} `json:"info"`
		Tags []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tags"`
		Paths      ordered[ordered[operation]] `json:"paths"`
		Components struct {
			Parameters ordered[parameter] `json:"parameters"`
			Responses  ordered[response]  `json:"responses"`
			Schemas    ordered[schema]    `json:"schemas"`
		} `json:"components"`
	}
	// operation is one method of one path. x-scope is our extension: the scope that a key needs, "any" or "none".
	operation struct {
		ID          string                `json:"operationId"`
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		Scope       string                `json:"x-scope"`
		Security    []map[string][]string `json:"security"`
		Parameters  []parameter           `json:"parameters"`
		RequestBody *struct {
			Required bool             `json:"required"`
			Content  map[string]media `json:"content"`
		} `json:"requestBody"`
		Responses ordered[response] `json:"responses"`
	}
	parameter struct {
		Ref         string          `json:"$ref"`
		Name        string          `json:"name"`
		In          string          `json:"in"`
		Required    bool            `json:"required"`
		Description string          `json:"description"`
		Schema      schema          `json:"schema"`
		Example     json.RawMessage `json:"example"`
	}
	response struct {
		Ref         string           `json:"$ref"`
		Description string           `json:"description"`
		Content     map[string]media `json:"content"`
	}
	media struct {
		Schema   schema          `json:"schema"`
		Example  json.RawMessage `json:"example"`
		Examples ordered[struct {
			Value json.RawMessage `json:"value"`
		}] `json:"examples"`
	}
	// schema is a JSON schema, reduced to what the API's document uses.
	schema struct {
		Ref         string            `json:"$ref"`
		Type        oneOrMore         `json:"type"`
		Description string            `json:"description"`
		Properties  ordered[schema]   `json:"properties"`
		Required    []string          `json:"required"`
		Items       *schema           `json:"items"`
		Enum        []json.RawMessage `json:"enum"`
		Pattern     string            `json:"pattern"`
		MinLength   *int              `json:"minLength"`
		MaxLength   *int              `json:"maxLength"`
		MinItems    *int              `json:"minItems"`
		MaxItems    *int              `json:"maxItems"`
		Minimum     json.Number       `json:"minimum"`
		Maximum     json.Number       `json:"maximum"`
		Default     json.RawMessage   `json:"default"`
		Additional  json.RawMessage   `json:"additionalProperties"`
		OneOf       []schema          `json:"oneOf"`
		AllOf       []schema          `json:"allOf"`
	}
)

// oneOrMore is the JSON schema keyword `type`: one name, or a list of names.
type oneOrMore []string

// UnmarshalJSON accepts both forms.
func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = make([]string, 1)
	return json.Unmarshal(text, &(*o)[0])
}

// The data of the template docs.html.
type (
	page struct {
		API, Title, Version, Summary, Description string
		Groups                                    []group
		Events                                    []event
		Errors                                    []errorRow
		Limits                                    quota.Limits
	}
	group struct {
		Name, Description, Anchor string
		Endpoints                 []endpoint
	}
	endpoint struct {
		Anchor, Method, Path, Summary, Description string
		Authentication                             string // the kind of key, or "none"
		Scope                                      string // "" for none
		Parameters, Body                           []field
		BodyOptional                               bool
		Curl                                       string
		Responses                                  []documentedResponse
	}
	field struct {
		Name, Where, Type, Text string
		Required                bool
		Depth                   int // of objects within objects
	}
	documentedResponse struct {
		Status, Text string
		Errors       []errorRow // none: it is a success
		Fields       []field
		Example      string
	}
	event struct {
		Anchor, Name, When, Recipients, Example string
		Emitted                                 bool
		Fields                                  []field // of its data
	}
	errorRow struct{ Code, Status, Message string }
)

// read converts an OpenAPI document to the data of the template. api is the API's address for the examples. Endpoints are
// grouped by tag, in the document's order. It returns an error for an example that is not valid JSON.
func read(text []byte, api string) (page, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return page{}, err
	}
	p := page{API: api, Title: d.Info.Title, Version: d.Info.Version, Summary: d.Info.Summary, Description: d.Info.Description, Errors: d.errors()}
	for _, tag := range d.Tags {
		g := group{Name: tag.Name, Description: tag.Description, Anchor: strings.ToLower(tag.Name)}
		for _, path := range d.Paths {
			for _, method := range path.Value {
				op := method.Value
				if !slices.Contains(op.Tags, tag.Name) {
					continue
				}
				e, err := d.endpoint(strings.ToUpper(method.Name), path.Name, op, api)
				if err != nil {
					return p, fmt.Errorf("%s %s: %w", method.Name, path.Name, err)
				}
				g.Endpoints = append(g.Endpoints, e)
			}
		}
		p.Groups = append(p.Groups, g)
	}
	return p, nil
}

// readEvents converts the catalogue of events, a list as GET /v1/webhooks/events returns it, to the data of the template.
func readEvents(text []byte) ([]event, error) {
	var all []struct {
		Event, Kind, When, Scope string
		Public, Emitted          bool
		Schema                   schema
		Example                  json.RawMessage
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the catalogue of events: %w", err)
	}
	var events []event
	for _, one := range all {
		kind := map[string]string{"api": "webhooks of API keys", "bot": "the webhook of a bot token"}[one.Kind]
		e := event{Anchor: "event-" + one.Kind + "-" + one.Event, Name: one.Event, When: one.When, Emitted: one.Emitted, Recipients: "Sent to " + kind + "."}
		switch {
		case one.Public:
			e.Recipients += " It is about no person, so every key can get it."
		case one.Scope != "":
			e.Recipients += " It is about the key’s owner, or people who granted your app " + one.Scope + "."
		}
		// The envelope is the same for all events, so only the fields of data are shown.
		data, _ := one.Schema.Properties.get("data")
		e.Fields = document{}.fields(data)
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, one.Example, "", "  "); err != nil {
			return nil, fmt.Errorf("example of %s: %w", one.Event, err)
		}
		e.Example = pretty.String()
		events = append(events, e)
	}
	return events, nil
}

// errors returns every error code with its status and message, ordered by status, each once.
func (d document) errors() []errorRow {
	var rows []errorRow
	for _, path := range d.Paths {
		for _, method := range path.Value {
			for _, r := range method.Value.Responses {
				rows = append(rows, d.codes(r.Name, r.Value)...)
			}
		}
	}
	for _, r := range d.Components.Responses { // a response that no endpoint lists, since the router sends it
		if r.Name == "MethodNotAllowed" {
			rows = append(rows, d.codes("405", r.Value)...)
		}
	}
	slices.SortStableFunc(rows, func(a, b errorRow) int { return strings.Compare(a.Status+a.Code, b.Status+b.Code) })
	return slices.Compact(rows)
}

// codes returns the errors of one response. Each example of the response is one error, named by its code.
func (d document) codes(status string, r response) []errorRow {
	var rows []errorRow
	for _, example := range d.response(r).Content["application/json"].Examples {
		var body struct{ Error struct{ Message string } }
		if json.Unmarshal(example.Value.Value, &body) == nil {
			rows = append(rows, errorRow{example.Name, status, body.Error.Message})
		}
	}
	return rows
}

func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// response resolves the response's $ref, if it has one.
func (d document) response(r response) response {
	if found, ok := d.Components.Responses.get(last(r.Ref)); ok && r.Ref != "" {
		return found
	}
	return r
}

// endpoint converts one operation: its parameters, the fields of its body, its responses, and a curl command built from the
// examples.
func (d document) endpoint(method, path string, op operation, api string) (endpoint, error) {
	e := endpoint{Anchor: op.ID, Method: method, Path: path, Summary: op.Summary, Description: op.Description, Authentication: authentication(op)}
	if op.Scope != "none" && op.Scope != "any" {
		e.Scope = op.Scope
	}
	call := api + path
	// Path parameters and required query parameters go into the URL of the example.
	var query []string
	for _, given := range op.Parameters {
		if found, ok := d.Components.Parameters.get(last(given.Ref)); ok && given.Ref != "" {
			given = found
		}
		s := d.schema(given.Schema)
		e.Parameters = append(e.Parameters, field{Name: given.Name, Where: given.In, Type: typeOf(s), Text: joined(given.Description, s.Description), Required: given.Required})
		var example string
		if json.Unmarshal(given.Example, &example) != nil {
			example = string(given.Example)
		}
		switch {
		case given.In == "path":
			call = strings.Replace(call, "{"+given.Name+"}", example, 1)
		case given.In == "query" && given.Required:
			query = append(query, given.Name+"="+example)
		}
	}
	if len(query) > 0 {
		call += "?" + strings.Join(query, "&")
	}
	sent := ""
	if op.RequestBody != nil {
		body := op.RequestBody.Content["application/json"]
		e.Body, e.BodyOptional = d.fields(body.Schema), !op.RequestBody.Required
		var compact bytes.Buffer
		if err := json.Compact(&compact, body.Example); err != nil {
			return e, fmt.Errorf("example of the body: %w", err)
		}
		sent = compact.String()
	}
	secret := map[string]string{"none": "", "bot token": "$BOT_TOKEN", "portal session": "$SESSION"}
	variable, known := secret[e.Authentication]
	if !known {
		variable = "$KEY"
	}
	e.Curl = curl(method, call, sent, variable)
	for _, r := range op.Responses {
		documented, err := d.describe(r.Name, d.response(r.Value))
		if err != nil {
			return e, err
		}
		e.Responses = append(e.Responses, documented)
	}
	return e, nil
}

// authentication names the kind of key that an operation takes, or "none".
func authentication(op operation) string {
	api, bot, session := false, false, false
	for _, s := range op.Security {
		_, isAPI := s["apiKey"]
		_, isBot := s["botToken"]
		_, isSession := s["portalSession"]
		api, bot, session = api || isAPI, bot || isBot, session || isSession
	}
	switch {
	case api && bot:
		return "API key or bot token"
	case api:
		return "API key"
	case bot:
		return "bot token"
	case session:
		return "portal session"
	}
	return "none"
}

// curl returns a call as a shell command. variable is the shell variable that holds the key, or "". All values are in single
// quotes, within which the shell replaces nothing.
func curl(method, call, body, variable string) string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	parts := []string{"curl"}
	if method != "GET" {
		parts[0] += " -X " + method
	}
	if variable != "" {
		parts = append(parts, `-H "Authorization: Bearer `+variable+`"`)
	}
	if method == "POST" {
		parts = append(parts, `-H "Idempotency-Key: order-17"`)
	}
	if body != "" && body != "{}" {
		parts = append(parts, `-H "Content-Type: application/json"`, "-d "+quoted(body))
	}
	return strings.Join(append(parts, quoted(call)), " \\\n  ")
}

// describe converts one response: its errors, or the fields of its data and an example.
func (d document) describe(status string, r response) (documentedResponse, error) {
	a := documentedResponse{Status: status, Text: r.Description}
	content, ok := r.Content["application/json"]
	if !ok {
		return a, nil
	}
	example := content.Example
	a.Errors = d.codes(status, r) // error responses are shared by endpoints, so their example would not fit this one
	if len(a.Errors) == 0 {
		data, _ := content.Schema.Properties.get("data")
		a.Fields = d.fields(data)
	}
	if example == nil {
		return a, nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, example, "", "  "); err != nil {
		return a, fmt.Errorf("example of %s: %w", status, err)
	}
	a.Example = pretty.String()
	return a, nil
}
