package pages

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// answers are the texts of responses that are not a page, by their keys in en.json. It has the form of the portal's
// catalogue: {docs} and {description} are replaced by paths.
type answers map[string]string

// description is the path of the OpenAPI document at the API.
const description = "/v1/openapi.json"

// readAnswers reads the embedded catalogue. An error is a mistake of the program.
func readAnswers() (answers, error) {
	raw, err := files.ReadFile("en.json")
	if err != nil {
		return nil, err
	}
	var catalogue struct {
		Answer answers `json:"answer"`
	}
	if err := json.Unmarshal(raw, &catalogue); err != nil {
		return nil, fmt.Errorf("read the texts of the pages: %w", err)
	}
	paths := strings.NewReplacer("{docs}", Docs, "{description}", description)
	for key, text := range catalogue.Answer {
		catalogue.Answer[key] = paths.Replace(text)
	}
	return catalogue.Answer, nil
}

// write answers with one line of plain text.
func (a answers) write(w http.ResponseWriter, status int, key string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, a[key]+"\n") // an error means that the client has gone
}
