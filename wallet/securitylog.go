package wallet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// SecurityKind is what an entry of a security log reports.
type SecurityKind string

// The kinds of entries. Their names are part of what is hashed, and never change.
const (
	LogWalletConnected    SecurityKind = "wallet.connected"
	LogWalletClaimed      SecurityKind = "wallet.claimed" // somebody else proved the address, and gets it unless the owner prevents it
	LogWalletKept         SecurityKind = "wallet.kept"    // the owner prevented that
	LogWalletMoved        SecurityKind = "wallet.moved"   // it went to another account
	LogWalletDisconnected SecurityKind = "wallet.disconnected"
	LogDefaultChanged     SecurityKind = "wallet.default"
	LogLinkOpened         SecurityKind = "link.opened" // one of the links LinkToSign ..., on a device
	LogKeyCreated         SecurityKind = "key.created"
	LogKeyRotated         SecurityKind = "key.rotated"
	LogKeyRevoked         SecurityKind = "key.revoked"
	LogKeyUsed            SecurityKind = "key.used" // for the first time from a client address
	LogAccessGranted      SecurityKind = "access.granted"
	LogAccessChanged      SecurityKind = "access.changed"
	LogAccessRevoked      SecurityKind = "access.revoked"
	LogAccessPaused       SecurityKind = "access.paused" // proposals of an app are refused for a while: private rules refused many
	LogPortalOpened       SecurityKind = "portal.opened"
	LogPortalEnded        SecurityKind = "portal.ended"
	LogHistoryExported    SecurityKind = "history.exported"
	LogNotificationsSet   SecurityKind = "notifications.set"
	LogFrozen             SecurityKind = "account.frozen"
	LogUnfrozen           SecurityKind = "account.unfrozen"
	LogLimitsTightened    SecurityKind = "limits.tightened" // the spending limits of a wallet allow less
	LogLimitsSigned       SecurityKind = "limits.signed"    // its device signed spending limits
	LogLimitsCancelled    SecurityKind = "limits.cancelled" // a change that would have allowed more
)

// SecurityKinds lists every kind.
func SecurityKinds() []SecurityKind {
	return []SecurityKind{LogWalletConnected, LogWalletClaimed, LogWalletKept, LogWalletMoved, LogWalletDisconnected, LogDefaultChanged, LogLinkOpened,
		LogKeyCreated, LogKeyRotated, LogKeyRevoked, LogKeyUsed, LogAccessGranted, LogAccessChanged, LogAccessRevoked, LogAccessPaused, LogPortalOpened, LogPortalEnded,
		LogHistoryExported, LogNotificationsSet, LogFrozen, LogUnfrozen, LogLimitsTightened, LogLimitsSigned, LogLimitsCancelled}
}

// SecurityDetails are the facts of an entry, as data. A front words them. Each kind uses some of them.
type SecurityDetails struct {
	Wallet  Address `json:"wallet,omitzero"`    // the wallet; of LogDefaultChanged the new default, zero for none; of LogUnfrozen the one that signed, zero for none
	Key     string  `json:"key,omitempty"`      // id of the key that the entry is about
	KeyKind KeyKind `json:"key_kind,omitempty"` // its kind
	KeyHint string  `json:"key_hint,omitempty"` // the last characters of its secret
	By      string  `json:"by,omitempty"`       // id of the key by which a program did it; "" for the person
	App     AppID   `json:"app,omitempty"`      // the app that the entry is about
	AppName string  `json:"app_name,omitempty"` // its name at the time
	Scopes  []Scope `json:"scopes,omitempty"`   // what was granted, or what a key can do
	Link    string  `json:"link,omitempty"`     // of LogLinkOpened what the link is for: LinkToSign ...
	Client  string  `json:"client,omitempty"`   // client address: an IPv4 address, or an IPv6 network of 64 bits
	Device  string  `json:"device,omitempty"`   // DeviceName of the browser
	First   bool    `json:"first,omitempty"`    // the device was not seen before
	Last    bool    `json:"last,omitempty"`     // no more of its kind are logged on this day (SeenRule)
	Value   string  `json:"value,omitempty"`    // of LogHistoryExported the format; of LogNotificationsSet "off", or the categories that are on, separated by spaces; of LogFrozen the FreezeChannel
	// Policy are spending limits: those that hold now, or, of LogLimitsSigned, those that were signed.
	Policy *Policy   `json:"policy,omitempty"`
	From   time.Time `json:"from,omitzero"` // of LogLimitsSigned: from when they hold, if they allow more
	// Was are the spending limits that held before Policy; of LogLimitsCancelled those that would have held. nil in entries of older versions.
	Was *Policy `json:"was,omitempty"`
}

// The values of SecurityDetails.Link.
const (
	LinkToSign      = "sign"
	LinkToConnect   = "connect"
	LinkToSetLimits = "limits"
	LinkToUnfreeze  = "unfreeze"
)

// fields lists the details by name in a fixed order, without those that are empty. A detail that is added later so leaves
// the hashes of older entries as they are.
func (d SecurityDetails) fields() (out [][2]string) {
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	flag := map[bool]string{true: "yes"}
	if !d.Wallet.IsZero() {
		add("wallet", d.Wallet.String())
	}
	add("key", d.Key)
	add("key_kind", string(d.KeyKind))
	add("key_hint", d.KeyHint)
	add("by", d.By)
	add("app", string(d.App))
	add("app_name", d.AppName)
	for _, scope := range d.Scopes {
		add("scope", string(scope))
	}
	add("link", d.Link)
	add("client", d.Client)
	add("device", d.Device)
	add("first", flag[d.First])
	add("last", flag[d.Last])
	add("value", d.Value)
	if d.Policy != nil {
		add("policy", d.Policy.canonicalText())
	}
	if !d.From.IsZero() {
		add("from", d.From.UTC().Format(time.RFC3339Nano))
	}
	if d.Was != nil {
		add("was", d.Was.canonicalText())
	}
	return out
}

// SecurityEntry is one entry of a person's security log. Each entry names the hash of the one before, so that none can be
// changed, removed or moved without the hashes of all later ones, and SecurityHead, showing it.
type SecurityEntry struct {
	Owner   UserID          `json:"owner"`
	Number  uint64          `json:"number"` // 1, 2, 3 ... without gaps
	At      time.Time       `json:"at"`     // UTC
	Kind    SecurityKind    `json:"kind"`
	Details SecurityDetails `json:"details"`
	Before  SecurityHash    `json:"before"` // of the entry before; zero for the first, and where the head could not be read
}

// SecurityHash is the SHA-256 of an entry. As text it is lowercase hex.
type SecurityHash [sha256.Size]byte

// String returns the hash in hex.
func (h SecurityHash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hash in hex.
func (h SecurityHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *SecurityHash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return fmt.Errorf("a hash has %d hex digits", 2*len(h))
	}
	*h = SecurityHash(raw)
	return nil
}

// securityDomain separates these hashes from all others, and names the version of their encoding.
const securityDomain = "purser/v1/security-log"

// Hash returns the SHA-256 of these bytes (docs/decisions/0048). A text is its length in 4 bytes, then its UTF-8. Numbers
// are big-endian.
//
//	text "purser/v1/security-log"
//	text owner
//	8 bytes number
//	8 bytes time, Unix seconds, two's complement; 4 bytes nanoseconds
//	text kind
//	4 bytes how many details follow; of each: text name, text value
//	32 bytes hash of the entry before
//
// Details come in the order of SecurityDetails. Empty ones are left out. A list has one detail for each item.
func (e SecurityEntry) Hash() SecurityHash {
	var raw []byte
	text := func(s string) {
		raw = binary.BigEndian.AppendUint32(raw, uint32(len(s)))
		raw = append(raw, s...)
	}
	text(securityDomain)
	text(string(e.Owner))
	raw = binary.BigEndian.AppendUint64(raw, e.Number)
	raw = binary.BigEndian.AppendUint64(raw, uint64(e.At.Unix()))
	raw = binary.BigEndian.AppendUint32(raw, uint32(e.At.Nanosecond()))
	text(string(e.Kind))
	fields := e.Details.fields()
	raw = binary.BigEndian.AppendUint32(raw, uint32(len(fields)))
	for _, f := range fields {
		text(f[0])
		text(f[1])
	}
	return sha256.Sum256(append(raw, e.Before[:]...))
}

// ErrSecurityEntry says that an entry may not be stored.
var ErrSecurityEntry = errors.New("not an entry of a security log")

// Check returns ErrSecurityEntry for an entry without an owner, kind or time.
func (e SecurityEntry) Check() error {
	if e.Owner == "" || e.Kind == "" || e.At.IsZero() {
		return fmt.Errorf("%w: owner %q, kind %q, at %s", ErrSecurityEntry, e.Owner, e.Kind, e.At)
	}
	return nil
}

// MaxSecurityEntries is how many entries of a person are kept: the newest.
const MaxSecurityEntries = 1000

// SecurityHead says where a log ends and begins. It is stored apart from the entries, so that newest entries that were cut off are missed.
type SecurityHead struct {
	Count  uint64       `json:"count"`  // number of the newest entry: as many were ever written; 0 for an empty log
	Hash   SecurityHash `json:"hash"`   // of the newest entry
	From   uint64       `json:"from"`   // number of the oldest entry that is kept
	Anchor SecurityHash `json:"anchor"` // of the entry before the oldest one, which is removed; zero if that was unknown, and for the first
}

// SecurityRow is what stands at one place of a stored log.
type SecurityRow struct {
	Number  uint64         // the place
	Entry   *SecurityEntry // nil: what stands there is not what was written there
	Belongs uint64         // of a row without Entry: the place for which it was written, if that is known; else 0
}

// SecurityFaultKind is what is wrong at a place of a log.
type SecurityFaultKind string

// The faults.
const (
	SecurityChanged   SecurityFaultKind = "changed"   // the entry is not what was written
	SecurityMissing   SecurityFaultKind = "missing"   // there is no entry
	SecurityReordered SecurityFaultKind = "reordered" // there is another entry, that of Belongs
	SecurityHeadLost  SecurityFaultKind = "head"      // the head is missing, damaged, or not that of these entries; or it was when an entry was written
)

// SecurityFault is one broken place of a log.
type SecurityFault struct {
	Kind    SecurityFaultKind
	Number  uint64 // of the place; of SecurityHeadLost the first entry after it, 0 if it is lost now
	Belongs uint64 // of SecurityReordered: the number of the entry that stands there
}

// CheckSecurityLog checks the whole log of a person and returns what is wrong with it, lowest number first; none if every
// entry from head.From to head.Count is what was written. head is nil if it cannot be read, and has Count 0 for a person without a log. rows are all that are stored, in the order of
// their places.
//
// It walks back from the newest entry, since the head vouches for that one, and each entry for the one before. Where an
// entry is wrong, the hash of the one before is unknown: that one is judged by its number alone.
func CheckSecurityLog(owner UserID, head *SecurityHead, rows []SecurityRow) []SecurityFault {
	var faults []SecurityFault
	known := SecurityHead{}
	switch {
	case head != nil:
		known = *head
	case len(rows) > 0:
		known.From, known.Count = rows[0].Number, rows[len(rows)-1].Number
		faults = append(faults, SecurityFault{Kind: SecurityHeadLost})
	default:
		return []SecurityFault{{Kind: SecurityHeadLost}}
	}
	at := map[uint64]SecurityRow{}
	for _, row := range rows {
		at[row.Number] = row
		if head != nil && (row.Number > known.Count || row.Number < known.From) && len(faults) == 0 {
			faults = append(faults, SecurityFault{Kind: SecurityHeadLost})
		}
	}
	if known.Count == 0 {
		return faults
	}
	var broken []SecurityFault
	expected, sure := known.Hash, head != nil
	for n := known.Count; n >= known.From && n > 0; n-- {
		row, there := at[n]
		fault := SecurityFault{Number: n}
		switch {
		case !there:
			fault.Kind = SecurityMissing
		case row.Entry == nil && row.Belongs != 0 && row.Belongs != n:
			fault.Kind, fault.Belongs = SecurityReordered, row.Belongs
		case row.Entry == nil:
			fault.Kind = SecurityChanged
		case row.Entry.Number != n:
			fault.Kind, fault.Belongs = SecurityReordered, row.Entry.Number
		case row.Entry.Owner != owner, sure && row.Entry.Hash() != expected:
			fault.Kind = SecurityChanged
		}
		if fault.Kind != "" {
			broken = append(broken, fault)
			sure = false
			continue
		}
		expected, sure = row.Entry.Before, row.Entry.Before != SecurityHash{}
		if n > 1 && !sure { // the head could not be read when this was written, so newest entries may have been cut off before
			broken = append(broken, SecurityFault{Kind: SecurityHeadLost, Number: n})
		}
	}
	if sure && known.From > 1 && known.Anchor != (SecurityHash{}) && known.Anchor != expected {
		broken = append(broken, SecurityFault{Kind: SecurityHeadLost, Number: known.From})
	}
	for i := len(broken) - 1; i >= 0; i-- {
		faults = append(faults, broken[i])
	}
	return faults
}

// SeenRule bounds what a person's log says about firsts, so that somebody who comes from ever new addresses floods neither
// the log nor the disk.
type SeenRule struct {
	Remembered int // how many marks of a subject are remembered: the newest
	PerDay     int // how many new ones are noted in a day (UTC)
}

// Bounds of each subject that can be seen for the first time.
var (
	SeenAddresses = SeenRule{Remembered: 20, PerDay: 5}  // client addresses of one lineage of keys
	SeenDevices   = SeenRule{Remembered: 20, PerDay: 5}  // devices of one person
	SeenOpenings  = SeenRule{Remembered: 40, PerDay: 20} // devices on which the links of one person were opened
	SecurityDaily = SeenRule{PerDay: 30}                 // entries of one kind in a person's log, whatever causes them
)

// Seen remembers what was seen of one subject. A mark is a hash (SeenMark).
type Seen struct {
	Marks []string `json:"marks"` // oldest first
	Day   string   `json:"day"`   // of the newest mark, UTC
	Today int      `json:"today"` // how many were noted on that day
	// At is when the newest mark was noted (UTC); zero in rows of older versions.
	At time.Time `json:"at,omitzero"`
}

// NewestAt returns when the newest mark was noted; zero for the first mark of a subject, which is news to nobody.
func (s Seen) NewestAt() time.Time {
	if len(s.Marks) < 2 {
		return time.Time{}
	}
	return s.At
}

// SeenMark returns the mark of something that can be recognised again: 32 hex digits of the SHA-256 of its parts.
func SeenMark(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Has reports whether a mark is remembered.
func (s Seen) Has(mark string) bool {
	for _, known := range s.Marks {
		if known == mark {
			return true
		}
	}
	return false
}

// FullOn reports whether no more marks are noted on the day of at.
func (s Seen) FullOn(at time.Time, rule SeenRule) bool {
	return s.Day == at.UTC().Format(time.DateOnly) && s.Today >= rule.PerDay
}

// Note returns s with a new mark. first is false if the mark was seen before or no more are noted on this day; nothing changes then. last says that it is
// the last one of this day.
func (s Seen) Note(mark string, at time.Time, rule SeenRule) (next Seen, first, last bool) {
	if s.Has(mark) || s.FullOn(at, rule) {
		return s, false, false
	}
	next, _, last = s.Count(at, rule)
	next.Marks, next.At = append(append([]string(nil), s.Marks...), mark), at.UTC()
	if over := len(next.Marks) - rule.Remembered; over > 0 {
		next.Marks = next.Marks[over:]
	}
	return next, true, last
}

// Count returns s with one more on the day of at, without a mark. ok is false if no more count on this day; nothing changes then. last says that it
// is the last one of this day.
func (s Seen) Count(at time.Time, rule SeenRule) (next Seen, ok, last bool) {
	if s.FullOn(at, rule) {
		return s, false, false
	}
	day := at.UTC().Format(time.DateOnly)
	next = s
	if next.Day, next.Today = day, 1; s.Day == day {
		next.Today = s.Today + 1
	}
	return next, true, next.Today >= rule.PerDay
}

// DeviceName returns a short name for what a User-Agent header says: "Chrome (Android)", "Firefox", "Windows", or "" if it
// names nothing known. Every name is made of words of ours, since the header can say anything. It proves nothing either:
// two people with the same browser have the same name.
func DeviceName(userAgent string) string {
	if len(userAgent) > 1024 {
		userAgent = userAgent[:1024]
	}
	name := func(known [][2]string) string {
		for _, k := range known {
			if strings.Contains(userAgent, k[0]) {
				return k[1]
			}
		}
		return ""
	}
	// A browser names those that it wants to pass for as well, so the special one stands before the common one.
	browser := name([][2]string{{"Telegram", "Telegram"}, {"SamsungBrowser/", "Samsung Internet"}, {"YaBrowser/", "Yandex"}, {"OPR/", "Opera"}, {"Vivaldi/", "Vivaldi"},
		{"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"Edg/", "Edge"}, {"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"},
		{"Chromium/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}})
	system := name([][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"}, {"Macintosh", "macOS"},
		{"Mac OS X", "macOS"}, {"Linux", "Linux"}})
	switch {
	case browser == "":
		return system
	case system == "":
		return browser
	}
	return browser + " (" + system + ")"
}
