package chain

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mr-tron/base58"

	"purser/wallet"
)

// programMethod lists the accounts of a program. Like holdingsMethod it has large answers.
const programMethod = "getProgramAccounts"

// programAccount is an entry of getProgramAccounts.
type programAccount struct {
	Pubkey  string       `json:"pubkey"`
	Account *accountData `json:"account"`
}

// nodeState is a node and the state that it is asked for: of a commitment, and of minSlot or later.
type nodeState struct {
	*node
	commitment string
	minSlot    uint64
}

// confirmedState is the newest state, of the node that is asked first.
func (c *Client) confirmedState() nodeState { return nodeState{c.primary(), confirmed, 0} }

// settings are the parameters of a call that name the state.
func (v nodeState) settings() settings {
	out := settings{"commitment": v.commitment}
	if v.minSlot > 0 {
		out["minContextSlot"] = v.minSlot
	}
	return out
}

// programAccounts lists the accounts of a program that pass the filters, with the slot at which they were read.
func (v nodeState) programAccounts(ctx context.Context, program wallet.Address, filters ...settings) ([]programAccount, uint64, error) {
	asked := v.settings()
	asked["encoding"], asked["withContext"], asked["filters"] = "base64", true, filters
	answer, err := call[answerAt[[]programAccount]](ctx, v.node, programMethod, program.String(), asked)
	if err == nil && answer.slot < v.minSlot {
		err = v.nodeError(programMethod, wallet.ErrNodeBehind)
	}
	return answer.value, answer.slot, err
}

// memcmp is a filter on an account's data.
func memcmp(offset int, want []byte) settings {
	return settings{"memcmp": settings{"offset": offset, "bytes": base58.Encode(want), "encoding": "base58"}}
}

// Places of a stake account's fields (StakeStateV2, bincode), in bytes: the kind (u32), then the meta and, in a delegated
// account, the delegation. The rent_exempt_reserve at 4 is not read: it is outdated.
const (
	stakerAt      = 12
	withdrawerAt  = 44
	lockTimeAt    = 76
	lockEpochAt   = 84
	voterAt       = 124
	stakeAt       = 156
	activatedAt   = 164
	deactivatedAt = 172

	initializedStake = 1
	delegatedStake   = 2
)

// StakeAccounts lists the stake accounts of which an address is staker or withdrawer, wherever they were made
// (getProgramAccounts, first for both authorities, then once for each).
//
// Anybody can make accounts that name an address as one authority and get their money back by the other, so many that no
// answer holds them. Then those with one authority are left out: a wallet can use only those of which it is both.
func (c *Client) StakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error) {
	return c.confirmedState().stakeAccounts(ctx, owner)
}

// stakeAccounts is StakeAccounts of one node's state.
func (v nodeState) stakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error) {
	var out []wallet.StakeAccount
	seen := map[wallet.Address]bool{}
	for _, authorities := range [][]int{{stakerAt, withdrawerAt}, {stakerAt}, {withdrawerAt}} {
		filters := []settings{{"dataSize": wallet.StakeAccountSize}}
		for _, at := range authorities {
			filters = append(filters, memcmp(at, owner[:]))
		}
		list, slot, err := v.programAccounts(ctx, wallet.StakeProgram, filters...)
		if len(authorities) == 1 && errors.Is(err, errTooLarge) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range list {
			at, account, err := v.stakeAccount(entry, slot, owner, authorities)
			if err != nil {
				return nil, err
			}
			if account != nil && !seen[at] {
				out = append(out, *account)
			}
			seen[at] = true
		}
	}
	return out, nil
}

// stakeAccount reads an entry of the stake program's accounts. It returns nil for one that is no stake: the filters also match
// what happens to lie there. The node must have applied them: an entry that does not fit makes the whole answer doubtful.
func (v nodeState) stakeAccount(entry programAccount, slot uint64, owner wallet.Address, authorities []int) (wallet.Address, *wallet.StakeAccount, error) {
	at, err := wallet.ParseAddress(entry.Pubkey)
	data, readable := entry.Account.bytes()
	account, whole := entry.Account.info().account(slot)
	if err != nil || !readable || !whole || account.Owner != wallet.StakeProgram || len(data) != wallet.StakeAccountSize ||
		slices.ContainsFunc(authorities, func(place int) bool { return !bytes.Equal(data[place:place+32], owner[:]) }) {
		return at, nil, v.nodeError(programMethod, errGarbage)
	}
	parsed, ok := parseStake(at, account, data)
	if !ok {
		return at, nil, nil
	}
	return at, &parsed, nil
}

// parseStake reads a stake account. false: it is neither initialized nor delegated.
func parseStake(at wallet.Address, account wallet.Account, data []byte) (wallet.StakeAccount, bool) {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	kind := binary.LittleEndian.Uint32(data)
	if kind != initializedStake && kind != delegatedStake {
		return wallet.StakeAccount{}, false
	}
	a := wallet.StakeAccount{Address: at, Lamports: account.Lamports, Slot: account.Slot,
		Staker: wallet.Address(data[stakerAt:]), Withdrawer: wallet.Address(data[withdrawerAt:]),
		LockedUntil: unixTime(word(lockTimeAt)), LockedEpoch: word(lockEpochAt)}
	if kind == delegatedStake {
		a.Voter = wallet.Address(data[voterAt:])
		a.Stake, a.Activated, a.Deactivated = word(stakeAt), word(activatedAt), word(deactivatedAt)
	}
	return a, true
}

// unixTime reads a signed number of seconds; zero and less: no time. Times beyond year 9999 are that year.
func unixTime(seconds uint64) time.Time {
	const last = 253_402_300_799
	if seconds == 0 || seconds > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(int64(min(seconds, last)), 0).UTC()
}

const (
	historyEntries = 512
	historyLength  = 8 + 32*historyEntries // bytes of the StakeHistory sysvar
	payingAt       = 80                    // place of "active" in the EpochRewards sysvar
	// usualSlotTime is used only while the node has not measured any.
	usualSlotTime = 300 * time.Millisecond
	// samples is the number of minutes over which the length of a slot is measured.
	samples = 60
)

// StakeEpoch reads the epoch, the cluster's stake history, and how long slots last (three sysvars at one slot,
// getEpochInfo and getRecentPerformanceSamples).
func (c *Client) StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	e, _, err := c.confirmedState().stakeEpoch(ctx, c.now)
	return e, err
}

// stakeEpoch is StakeEpoch of one node's state, with the slot of the sysvars.
func (v nodeState) stakeEpoch(ctx context.Context, now func() time.Time) (e wallet.StakeEpoch, slot uint64, _ error) {
	all, err := snapshots(ctx, v.node, v.commitment, historyLength, v.minSlot, clockSysvar, historySysvar, rewardsSysvar)
	if err == nil && all[0].Slot < v.minSlot {
		err = v.nodeError("getMultipleAccounts", wallet.ErrNodeBehind)
	}
	if err != nil {
		return e, 0, err
	}
	slot = all[0].Slot
	// The Clock sysvar has the epoch at byte 16, behind the slot and the time at which the epoch began.
	clock, history, rewards := all[0].data, all[1].data, all[2].data
	if len(clock) < 40 {
		return e, 0, v.nodeError("getMultipleAccounts", errGarbage)
	}
	e = wallet.StakeEpoch{Epoch: binary.LittleEndian.Uint64(clock[16:]), At: now(), Paying: len(rewards) > payingAt && rewards[payingAt] == 1,
		History: readHistory(history)}
	const method = "getEpochInfo"
	info, err := call[struct {
		Index *uint64 `json:"slotIndex"`
		Slots *uint64 `json:"slotsInEpoch"`
	}](ctx, v.node, method, v.settings())
	if err != nil {
		return e, 0, err
	}
	if info.Index == nil || info.Slots == nil || *info.Index >= *info.Slots {
		return e, 0, v.nodeError(method, errGarbage)
	}
	e.Slots, e.SlotsLeft = *info.Slots, *info.Slots-*info.Index
	e.SlotTime, err = v.slotTime(ctx)
	return e, slot, err
}

// readHistory reads the StakeHistory sysvar: a count, then epoch, effective, activating and deactivating lamports.
func readHistory(data []byte) map[uint64]wallet.StakeActivation {
	out := map[uint64]wallet.StakeActivation{}
	for at := 8; at+32 <= len(data); at += 32 {
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[at+8*i:]) }
		out[word(0)] = wallet.StakeActivation{Effective: word(1), Activating: word(2), Deactivating: word(3)}
	}
	return out
}

// slotTime is the mean length of a slot in the last hour.
func (n *node) slotTime(ctx context.Context) (time.Duration, error) {
	const method = "getRecentPerformanceSamples"
	list, err := call[[]struct {
		Slots   uint64 `json:"numSlots"`
		Seconds uint64 `json:"samplePeriodSecs"`
	}](ctx, n, method, samples)
	if err != nil {
		return 0, err
	}
	// Bounds on each sample keep the sums below from overflowing.
	var slots, seconds uint64
	for _, s := range list[:min(len(list), samples)] {
		if s.Slots > math.MaxUint32 || s.Seconds > math.MaxUint16 {
			return 0, n.nodeError(method, errGarbage)
		}
		slots, seconds = slots+s.Slots, seconds+s.Seconds
	}
	if slots == 0 || seconds == 0 {
		return usualSlotTime, nil
	}
	return time.Duration(seconds) * time.Second / time.Duration(slots), nil
}

// MinimumDelegation is the smallest stake, in lamports (getStakeMinimumDelegation).
func (c *Client) MinimumDelegation(ctx context.Context) (uint64, error) {
	const method = "getStakeMinimumDelegation"
	answer, err := call[answerAt[*uint64]](ctx, c.primary(), method, settings{"commitment": confirmed})
	if err == nil && answer.value == nil {
		err = c.primary().nodeError(method, errGarbage)
	}
	if err != nil {
		return 0, err
	}
	return *answer.value, nil
}

// How long answers about validators are shared, whatever Options.Share is: they are long, and change little.
const (
	validatorsLive = time.Minute
	namesLive      = 6 * time.Hour
)

// Validators lists all validators with stake, in the order of the node (getVoteAccounts). Names come from their info
// accounts. Anybody may call themselves anything. The result is shared and must not be changed.
func (c *Client) Validators(ctx context.Context) ([]wallet.Validator, error) {
	return c.validators.get(ctx, struct{}{}, c.now, validatorsLive, c.readValidators)
}

// voteAccount is an entry of getVoteAccounts. Older nodes tell the commission in percent only.
type voteAccount struct {
	Vote       string  `json:"votePubkey"`
	Node       string  `json:"nodePubkey"`
	Stake      *uint64 `json:"activatedStake"`
	Commission *uint64 `json:"commission"`
	BasisPoint *uint64 `json:"inflationRewardsCommissionBps"`
	// Credits has for each of the last epochs its number, the credits at its end, and those at its beginning.
	Credits [][3]uint64 `json:"epochCredits"`
}

// validator converts an entry. false: it makes no sense.
func (v voteAccount) validator(delinquent bool) (wallet.Validator, bool) {
	vote, bad := wallet.ParseAddress(v.Vote)
	node, worse := wallet.ParseAddress(v.Node)
	const all = 10_000 // basis points
	out := wallet.Validator{Vote: vote, Identity: node, Delinquent: delinquent}
	switch {
	case bad != nil || worse != nil || v.Stake == nil || v.Commission == nil && v.BasisPoint == nil:
		return out, false
	case v.BasisPoint != nil:
		out.Commission = *v.BasisPoint
	default:
		out.Commission = min(*v.Commission, all) * 100
	}
	out.Stake, out.Commission = *v.Stake, min(out.Commission, all)
	for i, c := range v.Credits[max(len(v.Credits)-len(out.Credits), 0):] {
		if c[1] > c[2] {
			out.Credits[i] = wallet.EpochCredits{Epoch: c[0], Credits: c[1] - c[2]}
		}
	}
	return out, true
}

func (c *Client) readValidators(ctx context.Context) ([]wallet.Validator, error) {
	const method = "getVoteAccounts"
	answer, err := call[struct {
		Current    []voteAccount `json:"current"`
		Delinquent []voteAccount `json:"delinquent"`
	}](ctx, c.primary(), method, settings{"commitment": confirmed})
	if err != nil {
		return nil, err
	}
	// Names are a list of its own, read far less often.
	names, err := c.names.get(ctx, struct{}{}, c.now, namesLive, c.readNames)
	if err != nil && ctx.Err() != nil {
		return nil, err
	} // a node that does not list them is no reason not to stake
	var out []wallet.Validator
	for _, group := range []struct {
		list       []voteAccount
		delinquent bool
	}{{answer.Current, false}, {answer.Delinquent, true}} {
		for _, entry := range group.list {
			v, ok := entry.validator(group.delinquent)
			if !ok {
				return nil, c.primary().nodeError(method, errGarbage)
			}
			v.Name = names[v.Identity]
			out = append(out, v)
		}
	}
	if out == nil {
		return nil, c.primary().nodeError(method, errGarbage) // no cluster is without validators
	}
	return out, nil
}

var (
	configProgram = wallet.MustAddress("Config1111111111111111111111111111111111111")
	infoMark      = wallet.MustAddress("Va1idator1nfo111111111111111111111111111111") // the first key of each info account
)

// Places in a validator's info account, in bytes: the number of its keys (1), the mark (32) and that it does not sign
// (1), the identity (32) and that it signs (1), then the length of a JSON text (8) and the text.
const (
	infoIdentityAt = 1 + 33
	infoSignsAt    = infoIdentityAt + 32
	infoLengthAt   = infoSignsAt + 1
	infoTextAt     = infoLengthAt + 8
	maxInfo        = 4 << 10
	maxName        = 32 // characters
)

// readNames reads what validators call themselves. Entries that make no sense are left out.
func (c *Client) readNames(ctx context.Context) (map[wallet.Address]string, error) {
	list, _, err := c.confirmedState().programAccounts(ctx, configProgram, memcmp(1, infoMark[:]))
	if err != nil {
		return nil, err
	}
	names := map[wallet.Address]string{}
	for _, entry := range list {
		data, ok := entry.Account.bytes()
		if !ok || len(data) < infoTextAt || len(data) > maxInfo || data[0] != 2 || data[infoSignsAt] != 1 {
			continue
		}
		length := binary.LittleEndian.Uint64(data[infoLengthAt:])
		if length > uint64(len(data)-infoTextAt) {
			continue
		}
		var info struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(data[infoTextAt:infoTextAt+length], &info) == nil && speakable(info.Name) {
			names[wallet.Address(data[infoIdentityAt:])] = info.Name
		}
	}
	return names, nil
}

// speakable reports whether a name can be shown: short, and by the rule of labels, so that it has something to see, hides nothing and
// stays in its line.
func speakable(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxName && wallet.CheckLabel(name) == nil
}
