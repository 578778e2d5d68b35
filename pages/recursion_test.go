package pages

import (
	"encoding/json"
	"slices"
	"testing"
)

// A schema may contain itself, directly, in a list, by the names of an object, or through another one. The page then lists its
// fields once, and says where they come again.
func TestASchemaThatContainsItselfIsListedOnce(t *testing.T) {
	var d document
	if err := json.Unmarshal([]byte(`{"components": {"schemas": {
		"Folder": {"type": "object", "required": ["name"], "properties": {
			"name":    {"type": "string"},
			"parent":  {"$ref": "#/components/schemas/Folder"},
			"folders": {"type": "array", "description": "What is in it.", "items": {"$ref": "#/components/schemas/Folder"}},
			"named":   {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Folder"}},
			"owner":   {"allOf": [{"$ref": "#/components/schemas/Owner"}], "description": "Who made it."}}},
		"Owner":  {"type": "object", "properties": {
			"home":    {"$ref": "#/components/schemas/Folder"},
			"value":   {"$ref": "#/components/schemas/Value"}}},
		"Value":  {"oneOf": [{"type": "string"}, {"$ref": "#/components/schemas/Value"}, {"type": "null"}]}}}}`), &d); err != nil {
		t.Fatal(err)
	}
	again := "It has the fields of Folder again."
	want := []field{
		{Name: "name", Type: "string", Required: true},
		{Name: "parent", Type: "object", Text: again},
		{Name: "folders", Type: "list, each object", Text: "What is in it. " + again},
		{Name: "named", Type: "object", Text: again},
		{Name: "owner", Type: "object", Text: "Who made it."},
		{Name: "home", Type: "object", Text: again, Depth: 1},
		{Name: "value", Type: "string or null", Depth: 1},
	}
	if got := d.fields(schema{Ref: "#/components/schemas/Folder"}); !slices.Equal(got, want) {
		t.Errorf("the fields are\n%+v, want\n%+v", got, want)
	}
	// Two fields of the same schema beside each other are no repetition: each lists what it has.
	if err := json.Unmarshal([]byte(`{"components": {"schemas": {"Sum": {"type": "object", "properties": {"amount": {"type": "string"}}}}}}`), &d); err != nil {
		t.Fatal(err)
	}
	var pair schema
	if err := json.Unmarshal([]byte(`{"properties": {"sent": {"$ref": "#/components/schemas/Sum"}, "fee": {"$ref": "#/components/schemas/Sum"}}}`), &pair); err != nil {
		t.Fatal(err)
	}
	if got := d.fields(pair); len(got) != 4 || got[1].Name != "amount" || got[3].Name != "amount" || got[3].Depth != 1 {
		t.Errorf("the fields are %+v", got)
	}
}
