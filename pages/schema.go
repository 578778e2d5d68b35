package pages

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// name returns the name of the schema that s refers to, or "" for a schema that stands by itself.
func (s schema) name() string {
	if len(s.AllOf) == 1 && len(s.Properties) == 0 { // allOf with one entry: the usual way to add a description to a $ref
		return last(s.AllOf[0].Ref)
	}
	return last(s.Ref)
}

// schema resolves the schema's $ref, if it has one. A description beside the $ref replaces that of the target.
func (d document) schema(s schema) schema {
	found, ok := d.Components.Schemas.get(s.name())
	if !ok || s.name() == "" {
		return s
	}
	if s.Description != "" {
		found.Description = s.Description
	}
	return found
}

// fields lists the fields of an object, each followed by those of the objects within it. Where a schema contains itself, its
// fields are listed once: a field that leads back to it says so.
func (d document) fields(s schema) []field { return d.fieldsBelow(s, nil, 0) }

// fieldsBelow is fields at a level of nesting. open holds the names of the schemas that s lies in.
func (d document) fieldsBelow(s schema, open []string, depth int) []field {
	if name := s.name(); name != "" {
		open = append(slices.Clip(open), name)
	}
	s = d.schema(s)
	var all []field
	for _, property := range s.Properties {
		inner := d.schema(property.Value)
		one := field{Name: property.Name, Type: d.typeOf(property.Value), Text: inner.Description, Required: slices.Contains(s.Required, property.Name), Depth: depth}
		nested := []schema{property.Value}
		if inner.Items != nil {
			nested = append(nested, *inner.Items)
		}
		var values schema // of an object with arbitrary names
		if json.Unmarshal(inner.Additional, &values) == nil && (values.Ref != "" || len(values.Properties) > 0) {
			nested = append(nested, values)
		}
		var below []field
		for _, within := range nested {
			if name := within.name(); name != "" && slices.Contains(open, name) {
				one.Text = joined(one.Text, "It has the fields of "+name+" again.")
				continue
			}
			below = append(below, d.fieldsBelow(within, open, depth+1)...)
		}
		all = append(append(all, one), below...)
	}
	return all
}

// typeOf describes the values that a schema allows, with lists and alternatives resolved. An alternative that leads back to
// the schema itself adds no value and is left out.
func (d document) typeOf(s schema) string { return d.typeWithin(s, nil) }

func (d document) typeWithin(s schema, open []string) string {
	if name := s.name(); name != "" {
		if slices.Contains(open, name) {
			return ""
		}
		open = append(slices.Clip(open), name)
	}
	s = d.schema(s)
	if len(s.OneOf) > 0 {
		var each []string
		for _, one := range s.OneOf {
			each = append(each, d.typeWithin(one, open))
		}
		return strings.Join(slices.Compact(filled(each)), " or ")
	}
	if s.Items != nil {
		return listed("list", bounds(s.MinItems, s.MaxItems, "items"), "each "+typeOf(d.schema(*s.Items)))
	}
	return typeOf(s)
}

// typeOf describes the values of a schema without lists and alternatives: enum, type, and bounds.
func typeOf(s schema) string {
	if len(s.Enum) > 0 {
		var names []string
		for _, value := range s.Enum {
			names = append(names, string(value))
		}
		return "one of " + strings.Join(names, ", ")
	}
	text := listed(strings.Join(s.Type, " or "), bounds(s.MinLength, s.MaxLength, "characters"))
	switch {
	case s.Minimum != "" && s.Maximum != "":
		text = listed(text, s.Minimum.String()+" to "+s.Maximum.String())
	case s.Minimum != "":
		text = listed(text, s.Minimum.String()+" or more")
	}
	if s.Default != nil {
		text = listed(text, "default "+string(s.Default))
	}
	return text
}

func bounds(least, most *int, of string) string {
	switch {
	case least != nil && most != nil:
		return strconv.Itoa(*least) + " to " + strconv.Itoa(*most) + " " + of
	case most != nil:
		return "at most " + strconv.Itoa(*most) + " " + of
	case least != nil && *least > 1:
		return "at least " + strconv.Itoa(*least) + " " + of
	}
	return ""
}

// joined puts spaces between sentences, listed commas between parts. Both leave out what is empty.
func joined(parts ...string) string { return strings.Join(filled(parts), " ") }
func listed(parts ...string) string { return strings.Join(filled(parts), ", ") }

func filled(parts []string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}
