package solana

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
)

// record is one line of the journal. Exactly one of its members is set: the genesis of the cluster, a change of pace,
// blocks that Advance made (Height), a fork, a landed transaction, a change of rent or of another knob, a planted account, the first
// block of an epoch, a block that pays rewards, or an upgrade to a genesis version. A landed transaction is kept with its effects instead of being executed again, so that a later version of
// this code replays the same chain.
type record struct {
	Genesis *genesisRecord `json:"genesis,omitempty"`
	Pace    *pace          `json:"pace,omitempty"`
	Height  uint64         `json:"height,omitempty"`
	Fork    *fork          `json:"fork,omitempty"`
	Landed  *landedRecord  `json:"landed,omitempty"`
	Rent    *rentChange    `json:"rent,omitempty"`

	EpochLength *epochLength `json:"epoch_length,omitempty"`
	Boundary    *boundary    `json:"boundary,omitempty"`
	Paid        *paid        `json:"paid,omitempty"` // a block that pays stakes their rewards

	Minimum    *minimumChange    `json:"minimum_delegation,omitempty"`
	Voting     *votingChange     `json:"voting,omitempty"`
	Commission *commissionChange `json:"commission,omitempty"`
	Planted    *plantedAccount   `json:"planted,omitempty"`

	Version int `json:"version,omitempty"` // the cluster has the accounts of this genesis version from here on
}

// genesisRecord is the first line of every journal: what the accounts and hashes of the cluster derive from.
type genesisRecord struct {
	Seed string `json:"seed"`
	Pace pace   `json:"pace"`

	LamportsPerByte uint64 `json:"lamports_per_byte,omitempty"` // absent: DefaultLamportsPerByte
	SlotsPerEpoch   uint64 `json:"slots_per_epoch,omitempty"`   // absent: SlotsPerEpoch

	Version int `json:"version,omitempty"` // genesis version; absent in the oldest journals
}

// landedRecord is a landed transaction: its wire bytes, its outcome, and the new state of every account that it
// changed. Fee and balances are in lamports, Units in compute units, Loaded in bytes. Writable and Readonly are the
// keys from lookup tables.
type landedRecord struct {
	Height   uint64            `json:"height"`
	Wire     []byte            `json:"wire"`
	Err      *TransactionError `json:"err,omitempty"`
	Fee      uint64            `json:"fee"`
	Units    uint64            `json:"units"`
	Loaded   int               `json:"loaded"`
	Logs     []string          `json:"logs"`
	Pre      []uint64          `json:"pre"`
	Post     []uint64          `json:"post"`
	Accounts []accountRecord   `json:"accounts"`

	Inner    []innerInstruction `json:"inner,omitempty"`
	Tokens   *tokenBalances     `json:"tokens,omitempty"`
	Writable []address          `json:"writable,omitempty"` // keys from lookup tables
	Readonly []address          `json:"readonly,omitempty"`
}

// accountRecord is the state of one account after a transaction. An account that is gone has zero lamports.
type accountRecord struct {
	Address    []byte `json:"address"`
	Lamports   uint64 `json:"lamports"`
	Owner      []byte `json:"owner"`
	Data       []byte `json:"data,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// record sorts the accounts, so that equal outcomes give equal bytes.
func (l *landed) record() *landedRecord {
	r := &landedRecord{
		Height: l.Height, Wire: l.tx.Wire, Err: l.Err, Fee: l.Fee, Units: l.Units,
		Loaded: l.Loaded, Logs: l.Logs, Pre: l.Pre, Post: l.Post, Inner: l.Inner,
	}
	// Empty balances are left out of the record.
	if l.Tokens.Pre != nil || l.Tokens.Post != nil {
		r.Tokens = &l.Tokens
	}
	// Keys from lookup tables are kept, because the tables can change before the next replay.
	if own := l.tx.own(); own < len(l.tx.Keys) {
		r.Writable, r.Readonly = l.tx.Keys[own:own+l.tx.loaded], l.tx.Keys[own+l.tx.loaded:]
	}
	for key, a := range l.Writes {
		r.Accounts = append(r.Accounts, accountRecord{key[:], a.Lamports, a.Owner[:], a.Data, a.Executable})
	}
	sort.Slice(r.Accounts, func(i, j int) bool {
		return bytes.Compare(r.Accounts[i].Address, r.Accounts[j].Address) < 0
	})
	return r
}

// replay applies one record to a cluster that is being opened. Nothing else uses the cluster yet, so no lock is
// needed.
func (c *Cluster) replay(r record) error {
	switch {
	case r.Genesis != nil:
		if c.paces != nil {
			return errors.New("a second genesis record")
		}
		return c.genesis(*r.Genesis)
	case r.Pace != nil:
		c.paces = append(c.paces, *r.Pace)
		c.tip = max(c.tip, heightAt(r.Pace.Slot))
	case r.Fork != nil:
		c.abandon(*r.Fork)
	case r.Landed != nil:
		return c.relive(r.Landed)
	case r.Rent != nil:
		c.tip = max(c.tip, r.Rent.Height-min(r.Rent.Height, 1))
		c.changeRent(*r.Rent)
	case r.EpochLength != nil:
		c.changeLength(*r.EpochLength)
	case r.Minimum != nil:
		c.minimums = append(c.minimums, *r.Minimum)
	case r.Voting != nil:
		c.changeVoting(*r.Voting)
	case r.Commission != nil:
		c.commissions = append(c.commissions, *r.Commission)
	case r.Planted != nil:
		if len(r.Planted.Account.Address) != 32 || len(r.Planted.Account.Owner) != 32 {
			return errors.New("an address has not 32 bytes")
		}
		c.tip = max(c.tip, r.Planted.Height-min(r.Planted.Height, 1))
		c.plant(*r.Planted)
	case r.Boundary != nil:
		c.tip = max(c.tip, r.Boundary.Height)
		c.cross(r.Boundary)
	case r.Paid != nil:
		c.tip = max(c.tip, r.Paid.Height)
		b := c.paying(r.Paid.Height)
		if b == nil {
			return errors.New("rewards are paid that no epoch brought")
		}
		c.payStakes(b, r.Paid.Height)
	case r.Version > c.version:
		return c.grow(r.Version)
	default:
		c.tip = max(c.tip, r.Height)
	}
	return nil
}

// relive restores a landed transaction with its recorded effects. It checks the form of the record, but executes
// nothing.
func (c *Cluster) relive(r *landedRecord) error {
	tx, err := parseTransaction(r.Wire)
	if err != nil {
		return err
	}
	// Signatures are not verified again: the record exists only because the transaction was accepted.
	if fault := tx.sanitize(); fault != nil {
		return fault
	}
	if len(tx.Lookups) > 0 {
		tx = tx.with(r.Writable, r.Readonly)
	}
	if len(r.Pre) != len(tx.Keys) || len(r.Post) != len(tx.Keys) {
		return errors.New("balances do not match the accounts")
	}
	out := outcome{
		Landed: true, Err: r.Err, Fee: r.Fee, Units: r.Units, Loaded: r.Loaded,
		Logs: r.Logs, Pre: r.Pre, Post: r.Post, Inner: r.Inner, Writes: map[address]account{},
	}
	if r.Tokens != nil {
		out.Tokens = *r.Tokens
	}
	for _, a := range r.Accounts {
		if len(a.Address) != 32 || len(a.Owner) != 32 {
			return errors.New("an address has not 32 bytes")
		}
		out.Writes[address(a.Address)] = account{a.Lamports, address(a.Owner), a.Data, a.Executable}
	}
	// The tip follows the records. The clock catches up after the replay.
	c.tip = max(c.tip, r.Height)
	// The number of airdrops goes into each airdrop's memo, so it has to continue where it was.
	if tx.Keys[0] == keyOf(c.faucet()) {
		c.airdrop++
	}
	c.settle(tx, r.Height, out)
	return nil
}

// journal is an append-only file of records, one JSON object a line. A Cluster's mu guards it.
type journal struct {
	file *os.File
	size int64 // bytes up to the end of the last complete line
}

// openJournal reads the records and leaves the file ready for more. It cuts off an incomplete last line (no newline,
// or no JSON): it belongs to a write that never returned, so no client has seen its effects.
func openJournal(path string) ([]record, *journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	j := &journal{file: f}
	records, err := j.load()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return records, j, nil
}

// load reads the whole file. Only the last line may be broken; an earlier one means damage, and is an error.
func (j *journal) load() ([]record, error) {
	raw, err := io.ReadAll(j.file)
	if err != nil {
		return nil, err
	}
	var records []record
	for line := 1; ; line++ {
		end := bytes.IndexByte(raw[j.size:], '\n')
		if end < 0 {
			break
		}
		var r record
		if err := json.Unmarshal(raw[j.size:j.size+int64(end)], &r); err != nil {
			// A broken line is forgiven only if it is the last one of the file.
			if j.size+int64(end)+1 == int64(len(raw)) {
				break
			}
			return nil, fmt.Errorf("%s, line %d: %w", journalName, line, err)
		}
		records = append(records, r)
		j.size += int64(end) + 1
	}
	if err := j.file.Truncate(j.size); err != nil {
		return nil, err
	}
	_, err = j.file.Seek(j.size, io.SeekStart)
	return records, err
}

// append writes the records with one system call, so that a killed process leaves all of them or an incomplete tail.
// It does not sync: a power failure may cost the newest blocks of a sandbox. After a failed write the file is cut
// back to whole lines.
func (j *journal) append(records []record) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	n, err := j.file.Write(b.Bytes())
	// A partial write is cut off, so that the next record does not continue a broken line.
	if err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(n)
	return nil
}

func (j *journal) close() error { return j.file.Close() }
