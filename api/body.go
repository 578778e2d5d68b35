package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// object is one JSON object as it was sent: the raw token of each field by its name. A number never passes through a
// float, so no digit of an amount is lost.
type object map[string]json.RawMessage

// jsonBody parses the request's body as one JSON object. It uses the raw body, because fiber's own reader would decompress
// it beyond every limit. INVALID_REQUEST for another content type, charset or encoding, and for malformed JSON.
func jsonBody(c *fiber.Ctx) (object, error) {
	if err := isJSON(c.Get(fiber.HeaderContentType)); err != nil {
		return nil, err
	}
	if coding := c.Get(fiber.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, wallet.Refuse(wallet.InvalidRequest, "http_request.encoding")
	}
	return parseObject(c.BodyRaw())
}

// optionalBody is jsonBody for a request whose body may be empty.
func optionalBody(c *fiber.Ctx) (object, error) {
	if len(c.BodyRaw()) == 0 {
		return object{}, nil
	}
	return jsonBody(c)
}

// isJSON refuses content types other than JSON in UTF-8.
func isJSON(contentType string) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != fiber.MIMEApplicationJSON {
		return wallet.Refuse(wallet.InvalidRequest, "http_request.content_type")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return wallet.Refuse(wallet.InvalidRequest, "http_request.charset")
	}
	return nil
}

// maxFields is the most fields of an object that are read. No request has half as many, so one of the next is
// unknown. Without the bound, refusing a body of thousands of fields would take 8 ms.
const maxFields = 32

// parseObject parses exactly one JSON object. encoding/json alone would take the last of two fields of one name,
// match names in any case, repair broken UTF-8, and ignore what follows the object. Each of these lets two programs
// read two different transfers in the same bytes. INVALID_REQUEST for any of them.
func parseObject(body []byte) (object, error) {
	malformed := wallet.Refuse(wallet.InvalidRequest, "http_request.json")
	if !utf8.Valid(body) {
		return nil, malformed
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, malformed
	}
	fields := object{}
	for d.More() {
		// Each field: a name that is new, then one value of any kind.
		token, err := d.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return nil, malformed
		}
		if _, twice := fields[name]; twice {
			return nil, badName(name, "body.repeated")
		}
		if len(fields) == maxFields {
			return nil, badName(name, "body.unknown")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, malformed
		}
		fields[name] = value
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, malformed
	}
	if len(bytes.TrimLeft(body[d.InputOffset():], " \t\r\n")) > 0 {
		return nil, malformed
	}
	return fields, nil
}

// bad refuses a field or a parameter that purser knows. key is a sentence of [body] in the catalogue. Each of them has the
// argument Field, so the text names the field.
func bad(name, key string, args ...wallet.Arg) error {
	args = append([]wallet.Arg{wallet.TextArg(fieldArg, name)}, args...)
	return wallet.About(wallet.Field(name), wallet.RefuseFor(wallet.InvalidRequest, wallet.Because(key, args...)))
}

// badName refuses a field by a name that the caller chose. The response only repeats names that could be a field's: short
// ones, of letters, digits and underscores.
func badName(name, key string) error {
	if name == "" || len(name) > 40 || !only(name, func(b byte) bool { return isAlphanumeric(b) || b == '_' }) {
		return wallet.Refuse(wallet.InvalidRequest, "http_request.strange_name")
	}
	return bad(name, key)
}

// only refuses fields that are not among the known ones. The error names the alphabetically first of them.
func (o object) only(known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, name) {
			return badName(name, "body.unknown")
		}
	}
	return nil
}

// text returns a required field that is a string, and not empty.
func (o object) text(name string) (string, error) {
	raw, ok := o[name]
	if !ok {
		return "", bad(name, "body.missing")
	}
	// A pointer tells null from "".
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		return "", bad(name, "body.text")
	}
	if *value == "" {
		return "", bad(name, "body.empty")
	}
	return *value, nil
}

// optional is text for a field that may be missing. It may not be empty or null.
func (o object) optional(name, fallback string) (string, error) {
	if _, ok := o[name]; !ok {
		return fallback, nil
	}
	return o.text(name)
}

// boolean returns an optional field that is true or false. null and texts are refused.
func (o object) boolean(name string, fallback bool) (bool, error) {
	raw, ok := o[name]
	if !ok {
		return fallback, nil
	}
	var value *bool
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		return false, bad(name, "body.boolean")
	}
	return *value, nil
}

// count returns an optional field that is a whole number from 0 to most, written without sign, fraction or exponent.
func (o object) count(name string, fallback, most int) (int, error) {
	raw, ok := o[name]
	if !ok {
		return fallback, nil
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 || n > most || raw[0] == '-' {
		return 0, bad(name, "body.whole", wallet.NumberArg("Most", most))
	}
	return n, nil
}

// texts returns a required field that is a list of strings, at most `most` of them. It may be empty.
func (o object) texts(name string, most int) ([]string, error) {
	raw, ok := o[name]
	if !ok {
		return nil, bad(name, "body.missing")
	}
	// Pointers tell null from an empty list and from "".
	var values *[]*string
	if err := json.Unmarshal(raw, &values); err != nil || values == nil {
		return nil, bad(name, "body.texts")
	}
	if len(*values) > most {
		return nil, bad(name, "body.too_many", wallet.NumberArg("Most", most))
	}
	out := make([]string, len(*values))
	for i, value := range *values {
		if value == nil {
			return nil, bad(name, "body.texts")
		}
		out[i] = *value
	}
	return out, nil
}

// telegramID returns a required field that is a person's Telegram id, as a string of digits. Their private chat has the same
// id. Ids are strings in the API because JSON numbers lose digits in some languages.
func (o object) telegramID(name string) (int64, error) {
	text, err := o.text(name)
	if err != nil {
		return 0, err
	}
	return parseTelegramID(name, text)
}

// parseTelegramID parses a person's Telegram id. It accepts only the one way to write it: no sign, no leading zeros.
func parseTelegramID(name, text string) (int64, error) {
	// Written again, the number must be the same text: there is one way to write an id.
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return 0, bad(name, "body.telegram_id")
	}
	return id, nil
}

// amount returns the field `amount`, in the token's units: a JSON number or a string, which may have an exponent. It
// is exact: the digits never pass through a float. "max" is refused, because a program must say how much it sends.
func (o object) amount() (wallet.Decimal, error) {
	const name = string(wallet.FieldAmount)
	raw, ok := o[name]
	// A JSON number is taken as its text. Anything else must be a string.
	value := string(raw)
	if !ok || len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		var err error
		value, err = o.text(name)
		if err != nil && ok && raw[0] != '"' {
			return wallet.Decimal{}, bad(name, "body.number")
		}
		if err != nil {
			return wallet.Decimal{}, err
		}
	}
	if strings.EqualFold(value, wallet.Max) {
		return wallet.Decimal{}, about(name, wallet.Refuse(wallet.InvalidRequest, "amount.not_exact"))
	}
	return wallet.ParseNumber(value)
}

// token returns the field `token`: a symbol or a mint address. Whether such a token exists is checked later.
func (o object) token() (wallet.TokenRef, error) { return o.tokenAt(string(wallet.FieldToken)) }

// tokenAt is token for a field of another name.
func (o object) tokenAt(name string) (wallet.TokenRef, error) {
	text, err := o.text(name)
	if err != nil {
		return wallet.TokenRef{}, err
	}
	ref, err := wallet.ParseTokenRef(text)
	return ref, wallet.AboutInstead(wallet.Field(name), err)
}

// ownWallet returns a required field that is the address of a wallet of the caller. It refuses the zero address
// (WALLET_NOT_FOUND), which would mean the default wallet to the operation: a program must name the wallet. Whether
// the caller may use it is checked by the operation.
func (o object) ownWallet(name string) (wallet.Address, error) {
	a, err := o.address(name)
	if err == nil && a.IsZero() {
		err = about(name, wallet.Refuse(wallet.WalletNotFound, "wallet_access.none"))
	}
	return a, err
}

// address returns a required field that is an address in base58.
func (o object) address(name string) (wallet.Address, error) {
	text, err := o.text(name)
	if err != nil {
		return wallet.Address{}, err
	}
	return parseAddress(name, text)
}

// parseAddress is wallet.ParseAddress with an error about the field.
func parseAddress(name, text string) (wallet.Address, error) {
	a, err := wallet.ParseAddress(text)
	return a, about(name, err)
}

// about returns err with the field that it is about; nil if err is nil.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	return wallet.About(wallet.Field(name), err)
}
