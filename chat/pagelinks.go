package chat

import (
	"net/url"
	"regexp"
)

// signingPage returns a link to the signing page in the person's language. kind is "b" to bind a wallet or "s" to sign.
func (s *replyTx) signingPage(kind, secret string) string {
	u := *s.PublicURL
	u.Path, u.RawQuery, u.Fragment = "/w/", "", ""
	return s.withSecret(u, kind, secret)
}

// portalPage returns a link to the webhook portal in the person's language.
func (s *replyTx) portalPage(token string) string {
	return s.withSecret(*s.PagesURL.JoinPath("/portal"), "t", token)
}

// languageTag matches the language tags that our pages accept.
var languageTag = regexp.MustCompile("^[A-Za-z0-9-]{2,35}$")

// withSecret returns a link to one of our pages with a secret and the person's language behind the #. Browsers do not send
// that part to any server. The page chooses among its own texts, so a language that it lacks is no error.
func (s *replyTx) withSecret(page url.URL, kind, secret string) string {
	link := page.String() + "#" + kind + "=" + secret
	if languageTag.MatchString(s.words.language) {
		link += "&lang=" + s.words.language
	}
	return link
}
