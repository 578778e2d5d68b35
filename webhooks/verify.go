package webhooks

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Saved is one delivery as its receiver saved it: the headers and the raw body. Verify checks it offline, for a developer
// whose own check fails. It uses the same functions that sign deliveries (sign.go), so the two cannot drift apart.
type Saved struct {
	Header http.Header
	Body   []byte
}

// requestLine matches the first line of a saved request, such as "POST /hook HTTP/1.1".
var requestLine = regexp.MustCompile(`^[A-Z]+ \S+ HTTP/[0-9.]+$`)

// ParseSaved reads a request as it was on the wire: an optional request line, headers, an empty line, and the body byte for
// byte. Header lines may end in CRLF or LF. It returns an error with advice if the text is no request, or if the body is
// still in chunked encoding, since the signature covers the decoded body.
func ParseSaved(raw []byte) (Saved, error) {
	s := Saved{Header: http.Header{}}
	for first := true; ; first = false {
		// One line at a time. What follows the empty line is the body, which is not touched.
		line, rest, more := bytes.Cut(raw, []byte("\n"))
		text := strings.TrimSuffix(string(line), "\r")
		switch {
		case !more:
			return s, errors.New("the request has no empty line between headers and body")
		case text == "":
			if first {
				return s, errors.New("the request begins with an empty line: headers come first")
			}
			s.Body = rest
			return s, s.whole()
		case first && requestLine.MatchString(text):
		default:
			if err := AddHeader(s.Header, text); err != nil {
				return s, err
			}
		}
		raw = rest
	}
}

// whole returns an error if the body is still in chunked transfer encoding, so that no signature could match it.
func (s Saved) whole() error {
	if strings.EqualFold(s.Header.Get("Transfer-Encoding"), "chunked") {
		return errors.New("the request's body is still in chunks: save it as your server hands it to you")
	}
	return nil
}

// AddHeader parses one "name: value" line and sets that header, replacing an earlier value. The name must be a token of
// RFC 9110, section 5.6.2.
func AddHeader(h http.Header, line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" {
		return errors.New("a header must be like 'name: value'")
	}
	h[textproto.CanonicalMIMEHeaderKey(name)] = []string{strings.TrimSpace(value)}
	return nil
}

// Verify returns one sentence that names the signatures that match. Its error says what is wrong with the delivery and what
// to do about it. A delivery that was sent more than maxAge before or after now is an error, because it may be a replay.
// A maxAge of 0 accepts any age.
func (s Saved) Verify(secret string, now time.Time, maxAge time.Duration) (string, error) {
	if secret == "" {
		return "", errors.New("there is no secret to compare with")
	}
	by, err := s.signedBy(secret)
	if err != nil {
		return "", err
	}
	// No signature matches: look for the usual mistakes, such as an added line break.
	if by.none() {
		return "", s.why(secret)
	}
	// A signature matches. What is left is the age, which tells a new delivery from a replayed one.
	sent, err := s.sentAt(by)
	if err != nil {
		return "", err
	}
	age := now.Sub(sent).Round(time.Second)
	if maxAge > 0 && age > maxAge {
		return "", fmt.Errorf("the signature is good, but it was sent %v ago: a receiver refuses what is older than %v, since it may be a replay. To look at a saved one whatever its age, add --max-age 0", age, maxAge)
	}
	if maxAge > 0 && age < -maxAge {
		return "", fmt.Errorf("the signature is good, but its time is %v ahead of this machine's clock: set the clock, or add --max-age 0", -age)
	}
	return by.words() + ", sent " + agoWords(age), nil
}

// schemes says which signatures match: x-service-signature (service), x-service-signature-previous (previous, made with the
// secret before the last rotation) and webhook-signature of Standard Webhooks (standard). serviceGiven and standardGiven say
// that the header was there, whether or not it matches.
type schemes struct{ service, previous, standard, standardGiven, serviceGiven bool }

// none reports whether no signature matches.
func (s schemes) none() bool { return !s.service && !s.previous && !s.standard }

// words returns the sentence that names the matching signatures, and a header that was there but does not match.
func (s schemes) words() string {
	service := "x-service-signature"
	if !s.service && s.previous {
		service = "x-service-signature-previous (the secret before the last rotation: change to the new one)"
	}
	switch {
	case (s.service || s.previous) && s.standard:
		return "good: signed with this secret, by " + service + " and webhook-signature"
	case s.standard && s.serviceGiven:
		return "good: signed with this secret, by webhook-signature (but x-service-signature was changed on the way, or is of another secret)"
	case s.standard:
		return "good: signed with this secret, by webhook-signature"
	case s.standardGiven:
		return "good: signed with this secret, by " + service + " (but webhook-signature does not fit: webhook-id or webhook-timestamp were changed on the way, so its time is not certain)"
	}
	return "good: signed with this secret, by " + service + " (which does not cover the time)"
}

// agoWords returns an age for a sentence. A negative age lies in the future by this machine's clock.
func agoWords(age time.Duration) string {
	if age < 0 {
		return fmt.Sprintf("%v ahead of this machine's clock", -age)
	}
	return fmt.Sprintf("%v ago", age)
}

// serviceForm is the form of x-service-signature: "sha256=" and 64 lowercase hexadecimal digits (HMAC-SHA256).
var serviceForm = regexp.MustCompile(`^sha256=[0-9a-f]{64}$`)

// signedBy compares every signature of the delivery with the secret, in constant time. It returns an error if the signature
// headers are missing or malformed. A well-formed signature that does not match is no error: see schemes.none.
func (s Saved) signedBy(secret string) (schemes, error) {
	var by schemes
	service, previous, standard := s.Header.Get(signatureHeader), s.Header.Get(previousHeader), s.Header.Get(standardSign)
	if service == "" && previous == "" && standard == "" {
		return by, errors.New("the delivery has neither x-service-signature nor webhook-signature: give its headers by --header, or the whole request by --request; if they never came, it is not from purser, or a proxy drops headers")
	}
	expected := serviceSignature(secret, s.Body)
	for _, one := range []struct {
		name, value string
		good        *bool
	}{{"x-service-signature", service, &by.service}, {"x-service-signature-previous", previous, &by.previous}} {
		if one.value != "" && !serviceForm.MatchString(one.value) {
			return by, fmt.Errorf("%s is not sha256= and 64 hexadecimal digits: it was cut or changed on the way", one.name)
		}
		*one.good = one.value != "" && hmac.Equal([]byte(one.value), []byte(expected))
	}
	by.serviceGiven, by.standardGiven = service != "", standard != ""
	// webhook-signature is a list: after a rotation it has one signature for each secret. One match is enough.
	id, unix := s.Header.Get(standardID), s.Header.Get(standardTime)
	for _, one := range strings.Fields(standard) {
		by.standard = id != "" && hmac.Equal([]byte(one), []byte(standardSignature(secret, id, unix, s.Body))) || by.standard
	}
	if by.none() && service == "" && previous == "" && (id == "" || unix == "") {
		return by, errors.New("webhook-signature needs webhook-id and webhook-timestamp beside it: one of them is missing")
	}
	return by, nil
}

// sentAt returns when the delivery was sent. webhook-signature covers its timestamp, so that time is preferred. Without it
// the time is x-service-timestamp, which x-service-signature does not cover.
func (s Saved) sentAt(by schemes) (time.Time, error) {
	if by.standard {
		seconds, err := strconv.ParseInt(s.Header.Get(standardTime), 10, 64)
		if err != nil || seconds < 0 || seconds > 1<<40 {
			return time.Time{}, errors.New("the signature is good, but webhook-timestamp is no time in Unix seconds")
		}
		return time.Unix(seconds, 0), nil
	}
	text := s.Header.Get(timestampHeader)
	if text == "" {
		return time.Time{}, errors.New("the signature is good, but x-service-timestamp is missing: without it an old delivery looks like a new one")
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("the signature is good, but x-service-timestamp is no ISO 8601 time")
	}
	return at, nil
}

// why explains why no signature matches. It repeats the check with the usual mistakes undone, in the body first and then in
// the secret. The first change that makes a signature match is the answer.
func (s Saved) why(secret string) error {
	fits := func(secret string, body []byte) bool {
		by, err := Saved{s.Header, body}.signedBy(secret)
		return err == nil && !by.none()
	}
	for _, body := range [][]byte{bytes.TrimSuffix(bytes.TrimSuffix(s.Body, []byte("\n")), []byte("\r")), bytes.TrimSpace(s.Body)} {
		if fits(secret, body) {
			return errors.New("the secret is right, but the body has a line break or space around it that was not sent: save it byte for byte (printf %s, not echo)")
		}
	}
	// A framework parsed the JSON and wrote it again, with other spaces, escapes or order of names.
	if body, ok := reencoded(s.Body); ok && fits(secret, body) {
		return errors.New("the secret is right, but the body was re-encoded: take the raw bytes as they arrive, before anything parses the JSON and writes it anew")
	}
	if length, err := strconv.Atoi(s.Header.Get("Content-Length")); err == nil && length != len(s.Body) {
		return fmt.Errorf("the body has %d bytes, but Content-Length says %d: it was cut or changed after it arrived", len(s.Body), length)
	}
	// The body is as it was sent, as far as one can see. Try the usual mistakes of copying a secret.
	others := []struct{ secret, advice string }{
		{strings.TrimSpace(secret), "the secret has spaces or line breaks around it: take them away"},
		{strings.Trim(strings.TrimSpace(secret), `"'`), "the secret stands in quotes: take them away"},
		{secretPrefix + secret, "the secret lacks its beginning: " + secretPrefix + " is a part of it"},
		{strings.TrimPrefix(secret, secretPrefix), "the secret has " + secretPrefix + " before it that is no part of it"},
	}
	for _, other := range others {
		if fits(other.secret, s.Body) {
			return errors.New(other.advice)
		}
	}
	switch {
	case len(s.Body) == 0:
		return errors.New("the body is empty: pipe it in as it arrived")
	case !json.Valid(s.Body):
		return errors.New("no signature fits, and the body is no JSON: it was cut or changed after it arrived")
	}
	return errors.New("no signature fits: the secret is another webhook's (each has its own, and a rotated one ends when its grace is over), or the body is not byte for byte what was sent")
}

// stringLiteral matches one JSON string with its quotes.
var stringLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// reencoded returns the body as purser would have written the same JSON: without spaces, with the escapes of encoding/json,
// and with the names of the envelope in their order. ok is false if the body is not JSON. It cannot restore the order of
// names inside data, so a body that was sorted there stays unexplained.
func reencoded(body []byte) ([]byte, bool) {
	var compact bytes.Buffer
	if json.Compact(&compact, body) != nil {
		return nil, false
	}
	own := stringLiteral.ReplaceAllFunc(compact.Bytes(), func(literal []byte) []byte {
		var text string
		if json.Unmarshal(literal, &text) != nil {
			return literal
		}
		again, err := json.Marshal(text)
		if err != nil {
			return literal
		}
		return again
	})
	// A program that holds JSON in a map loses the order of names. The order in the envelope is always the same.
	var envelope struct {
		Event     json.RawMessage `json:"event"`
		Data      json.RawMessage `json:"data"`
		Timestamp json.RawMessage `json:"timestamp,omitempty"`
	}
	if bytes.HasPrefix(own, []byte(`{"event":`)) || json.Unmarshal(own, &envelope) != nil || envelope.Event == nil || envelope.Data == nil {
		return own, true
	}
	restored, err := json.Marshal(envelope)
	return restored, err == nil
}
