package webhooks

import "encoding/json"

// described is an entry of the catalogue as GET /v1/webhooks/events returns it. The texts are for developers, in
// English.
type described struct {
	Event   string          `json:"event"`
	Kind    string          `json:"kind"` // of the key whose webhooks take it
	When    string          `json:"when"`
	Scope   string          `json:"scope"` // of the grant by which apps of others may receive it; "" for none
	Public  bool            `json:"public"`
	Emitted bool            `json:"emitted"` // false: it comes with a later version
	Schema  json.RawMessage `json:"schema"`
	Example json.RawMessage `json:"example"`
}

// Describe returns the catalogue as JSON: a list of all events, each with the JSON Schema of its data and an example. The
// result never changes while the process runs. An error is a fault in the catalogue itself.
func Describe() (json.RawMessage, error) {
	all := []described{}
	for _, t := range Catalogue() {
		schema, err := t.Schema()
		if err != nil {
			return nil, err
		}
		example, err := t.Example()
		if err != nil {
			return nil, err
		}
		all = append(all, described{string(t.Name), string(t.Kind), t.When, string(t.Scope), t.Public, t.Emitted, schema, example})
	}
	return json.Marshal(all)
}
