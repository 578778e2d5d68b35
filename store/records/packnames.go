package records

import (
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

// member is a name in JSON to which pack gives a byte: with a whole value, with one kind of item, or with any.
type member struct {
	name  string
	value string // as JSON; "": any
	item  byte   // 0: any
}

// memberTable finds members. Their byte is their place in all, from 1 on.
type memberTable struct {
	all   []member
	whole map[string]byte // by name and value as JSON
	typed map[typedName]byte
	named map[string]byte
}

// typedName is a name with one kind of item.
type typedName struct {
	name string
	item byte
}

// memberNames are all names to which pack gives a byte. wholeMembers and typedMembers are those that have one more with a value or a kind of
// item. All are part of the stored form: a table changes only at its end, and each with a form of its own.
const memberNames = `id type status owner key_id signer from to token symbol mint decimals program amount fee balance_left unfunded reference ` +
	`requested_destination rent transfer_fee compute_unit_limit compute_unit_price retry_of payment_request_ref answers link_references retried_by ` +
	`recheck_requested_at created_at deadline delay_for delay_ends_at message issued_blockhashes blockhash hash last_valid_block_height slot at signed ` +
	`signature signed_at submitted_at refusal refusal_reason landing block_height spent confirmations finalized failure gained units confirmed_at ended_at ` +
	`indeterminate closed error_code error_reason changes version sign key args name text number duration time address list chat user subject sign_id lookalike ` +
	`memo label purpose findings rule verdict reason wait delay_reason terms schema account merged split validator_name cooldown_end epoch_end ` +
	`epoch_nanoseconds to_token quoted minimum slippage_bps source venues impact_bps below_market_bps passing expires route data accounts tables received ` +
	`delegate limit`

const wholeMembers = `"type":"send" "type":"receive" "type":"request" "type":"swap" "type":"stake" "type":"unstake" "type":"withdraw" "type":"revoke" ` +
	`"status":"confirmed" "status":"received" "status":"failed" "status":"expired" "status":"rejected" "signer":"page" "signer":"external" "signer":"developer" "signer":"" ` +
	`"token":{"symbol":"SOL","decimals":9} "fee":5000 "rent":2039280 "confirmations":32 "finalized":true "failure":"" "closed":true "changes":5 "version":6 ` +
	`"version":1 "changes":0 "unfunded":true "indeterminate":true "schema":"swap/1" "schema":"stake/1" "schema":"revoke/1"`

// typedMembers follow each other by the kind of their items.
func typedMembers() []typedName {
	var out []typedName
	for _, of := range []struct {
		item  byte
		names string
	}{
		{itemTimedID, "id retry_of answers retried_by"},
		{itemHashID, "id"},
		{itemOwner, "owner"},
		{itemKeyID, "key_id"},
		{itemAddress, "from to reference payment_request_ref mint program lookalike account"},
		{itemSignature, "signature"},
		{itemTime, "created_at deadline at signed_at submitted_at confirmed_at ended_at recheck_requested_at delay_ends_at expires"},
		{itemBase64, "message signed sign data accounts"},
		{itemNumbers, "hash"},
		{itemNumber, "amount fee balance_left compute_unit_limit compute_unit_price last_valid_block_height slot block_height spent changes version chat confirmations decimals rent"},
		{itemDecimal, "quoted minimum received limit"},
		{itemToken, "sign_id"},
		{itemText, "memo label symbol"},
		{itemObject, "token blockhash landing terms"},
		{itemArray, "issued_blockhashes"},
	} {
		for name := range strings.FieldsSeq(of.names) {
			out = append(out, typedName{name, of.item})
		}
	}
	return out
}

// packedMembers makes the table once.
var packedMembers = sync.OnceValue(func() *memberTable {
	t := &memberTable{whole: map[string]byte{}, typed: map[typedName]byte{}, named: map[string]byte{}}
	add := func(m member) byte {
		t.all = append(t.all, m)
		if len(t.all) >= memberNamed {
			panic("records: a member has one byte") // no input changes the table
		}
		return byte(len(t.all))
	}
	for name := range strings.FieldsSeq(memberNames) {
		t.named[name] = add(member{name: name})
	}
	for whole := range strings.FieldsSeq(wholeMembers) {
		name, value, _ := strings.Cut(whole, ":")
		t.whole[whole] = add(member{name: strings.Trim(name, `"`), value: value})
	}
	for _, typed := range typedMembers() {
		t.typed[typed] = add(member{name: typed.name, item: typed.item})
	}
	return t
})

// idLength is how many digits of five bits an id of wallet.TimedIDs has, and idSize how many bytes they take. The digits are base32hex.
const (
	idLength   = 26
	idSize     = 17
	idAlphabet = "0123456789abcdefghijklmnopqrstuv"
)

// idBytes returns the digits of an id as bytes.
func idBytes(digits string) (raw [idSize]byte, ok bool) {
	if len(digits) != idLength {
		return raw, false
	}
	var bits uint16 // those that are no byte yet
	left, at := idSize*8-idLength*5, 0
	for i := range digits {
		digit := strings.IndexByte(idAlphabet, digits[i])
		if digit < 0 {
			return raw, false
		}
		bits = bits<<5 | uint16(digit)
		if left += 5; left >= 8 {
			left -= 8
			raw[at] = byte(bits >> left)
			at++
		}
	}
	return raw, true
}

// idDigits undoes idBytes.
func idDigits(raw [idSize]byte) string {
	out := make([]byte, 0, idLength)
	bits, left := uint16(raw[0]), 8-(idSize*8-idLength*5)
	for _, b := range raw[1:] {
		bits, left = bits<<8|uint16(b), left+8
		for left >= 5 {
			left -= 5
			out = append(out, idAlphabet[bits>>left&31])
		}
	}
	return string(out)
}

// idMillis is the time in the bytes of an id, in milliseconds since 1970.
func idMillis(raw [idSize]byte) uint64 {
	// 6 bits of nothing and 45 of time are 51 bits.
	return binary.BigEndian.Uint64(raw[:8]) >> (64 - 51)
}

// packedTimes writes each time as how far it is from the one before. The first is compared with the time in the id, which stands
// before it.
type packedTimes struct{ last int64 } // nanoseconds since packedEpoch

// packedEpoch is the middle of the times that have a short form, which reach 36 years from it, in seconds since 1970.
const packedEpoch = 1_577_836_800

// farthest bounds the times that have a short form, in nanoseconds from packedEpoch: with the unit, a step has to fit into 64 bits.
const farthest = 1 << 60

// units are what a step counts, in nanoseconds. Its two lowest bits say which.
func units() [3]int64 { return [3]int64{1, int64(time.Millisecond), int64(time.Second)} }

// id takes the time of an id of a transaction.
func (p *packedTimes) id(item byte, raw [idSize]byte) {
	if millis := idMillis(raw); item == itemTimedID && millis/1000 > packedEpoch && millis/1000 < packedEpoch+farthest/uint64(time.Second) {
		p.last = (int64(millis) - packedEpoch*1000) * int64(time.Millisecond)
	}
}

// step returns how far a time is from the one before; ok is false if it has no short form.
func (p *packedTimes) step(at time.Time) (step uint64, ok bool) {
	if seconds := at.Unix() - packedEpoch; seconds <= -farthest/int64(time.Second) || seconds >= farthest/int64(time.Second) {
		return 0, false
	}
	now := (at.Unix()-packedEpoch)*int64(time.Second) + int64(at.Nanosecond())
	far, unit := now-p.last, 0
	p.last = now
	for i, size := range units() {
		if far%size == 0 {
			unit = i
		}
	}
	count := far / units()[unit]
	return uint64(count<<1^count>>63)<<2 | uint64(unit), true
}

// at undoes step. A step of no known unit counts as none.
func (p *packedTimes) at(step uint64) time.Time {
	if unit := step & 3; unit < 3 {
		count := int64(step>>3) ^ -int64(step>>2&1)
		p.last += count * units()[unit]
	}
	return time.Unix(packedEpoch, 0).Add(time.Duration(p.last)).UTC()
}
