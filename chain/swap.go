package chain

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"

	"purser/wallet"
)

// Instructions of the swap program, by their discriminators: SHA-256 of "global:" and the name, of which the first 8 bytes.
var (
	sharedRoute = []byte{0xd1, 0x98, 0x53, 0x93, 0x7c, 0xfe, 0xd8, 0xe9} // shared_accounts_route_v2
	directRoute = []byte{0xbb, 0x64, 0xfa, 0xcc, 0x31, 0xc4, 0xaf, 0x14} // route_v2
)

// swapEvents is the account by which the swap program logs (its event_authority).
var swapEvents = wallet.MustAddress("D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf")

// Instructions of the token program that swaps need, u8.
const tokenSyncNative = 17

// swapCodecs are the rows of what only swaps need, beside wrapCodec and referenceCodec, which must come before transfers. A swap is read
// as a whole (checkSwap). docs/decisions/0042 says why these instructions, and no others.
func swapCodecs() []ActionCodec {
	return []ActionCodec{swapCodec(), syncNativeCodec(), unwrapCodec()}
}

// wrappedAccount is a wallet's associated account for wrapped SOL.
func wrappedAccount(owner wallet.Address) wallet.Address {
	return wallet.AssociatedAccount(owner, wallet.WrappedSOL, wallet.TokenProgram)
}

// isSystemTransfer tells whether an instruction of the System program is a whole transfer by the signer.
func isSystemTransfer(c Call) bool {
	return len(c.Data()) == 12 && binary.LittleEndian.Uint32(c.Data()) == systemTransfer && c.Len() >= 2 && c.IsPayer(0)
}

// wrapCodec is the row of a System transfer to the signer's own associated account for wrapped SOL, in a message that swaps.
// Elsewhere it is a transfer like any other.
func wrapCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionWrap, Programs: []wallet.Address{wallet.SystemProgram},
		Claims: func(c Call) bool {
			return isSystemTransfer(c) && c.Writable(1) && c.m.calls(wallet.SwapProgram) && c.At(1) == wrappedAccount(c.Payer())
		},
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			lamports := c.amount()
			switch {
			case c.Len() != 2:
				return wallet.Action{}, refuse(ExtraAccounts, "wrapping SOL takes no other accounts")
			case lamports == 0:
				return wallet.Action{}, refuse(ZeroAmount, "it wraps nothing")
			}
			return wallet.Action{Type: wallet.ActionWrap, From: c.Payer(), Account: c.At(1), Lamports: lamports}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.SystemProgram, []Account{signer(a.From), writable(a.Account)}, number(systemTransfer, a.Lamports)}
		}}
}

// referenceCodec is the row of a System transfer of nothing from the signer to itself that names one account more: the reference by
// which purser finds the transaction. The swap program's own instruction has no place for one.
func referenceCodec() ActionCodec {
	claims := func(c Call) bool {
		return isSystemTransfer(c) && c.IsPayer(1) && c.amount() == 0 && c.Len() == 3 && c.m.calls(wallet.SwapProgram)
	}
	return ActionCodec{Type: wallet.ActionReference, Programs: []wallet.Address{wallet.SystemProgram}, Claims: claims,
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			_, reference, err := referencesFrom(c, 2)
			if err != nil {
				return wallet.Action{}, err
			}
			return wallet.Action{Type: wallet.ActionReference, From: c.Payer(), Reference: reference}, nil
		},
		Matches: func(c Call, intended wallet.Action) bool {
			return c.Payer() == intended.From && c.At(2) == intended.Reference
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.SystemProgram, []Account{signer(a.From), signer(a.From), readonly(a.Reference)}, number(systemTransfer, 0)}
		}}
}

// inSwap tells whether an instruction of the token program has this number and stands in a message that swaps. Elsewhere none of these
// rows claims anything.
func inSwap(c Call, number byte) bool {
	return len(c.Data()) > 0 && c.Data()[0] == number && c.m.calls(wallet.SwapProgram)
}

// syncNativeCodec is the row of SyncNative on the signer's own account for wrapped SOL.
func syncNativeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionSyncNative, Programs: []wallet.Address{wallet.TokenProgram},
		Claims: func(c Call) bool { return inSwap(c, tokenSyncNative) },
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			switch {
			case len(c.Data()) != 1 || c.Len() != 1:
				return wallet.Action{}, refuse(Malformed, "not a whole instruction of the token program")
			case c.At(0) != wrappedAccount(c.Payer()):
				return wallet.Action{}, refuse(WrongAccount, "it counts SOL in another account than this wallet's")
			case !c.Writable(0):
				return wallet.Action{}, refuse(Malformed, "a token account that cannot change")
			}
			return wallet.Action{Type: wallet.ActionSyncNative, Account: c.At(0)}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.TokenProgram, []Account{writable(a.Account)}, []byte{tokenSyncNative}}
		}}
}

// unwrapCodec is the row of CloseAccount on the signer's own account for wrapped SOL, all of which returns to the signer.
func unwrapCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionUnwrap, Programs: []wallet.Address{wallet.TokenProgram},
		Claims: func(c Call) bool { return inSwap(c, tokenClose) },
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			switch {
			case len(c.Data()) != 1 || c.Len() != 3:
				return wallet.Action{}, refuse(Malformed, "not a whole instruction of the token program")
			case !c.IsPayer(1) || !c.IsPayer(2):
				return wallet.Action{}, refuse(NotTheOwner, "it gives the SOL of an account to somebody else")
			case c.At(0) != wrappedAccount(c.Payer()):
				return wallet.Action{}, refuse(WrongAccount, "it closes another account than this wallet's for wrapped SOL")
			case !c.Writable(0):
				return wallet.Action{}, refuse(Malformed, "a token account that cannot change")
			}
			return wallet.Action{Type: wallet.ActionUnwrap, From: c.Payer(), Account: c.At(0)}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.TokenProgram, []Account{writable(a.Account), signer(a.From), signer(a.From)}, []byte{tokenClose}}
		}}
}

// routeLayout is where an instruction of the swap program has what is read of it: offsets in its data, positions of its accounts.
type routeLayout struct {
	amounts                                       int // offset of the amount in; the other numbers follow it
	user, source, destination, inMint, outMint    int
	inProgram, outProgram, events, program, fixed int
	pooledSource, pooledDestination               int // the program's own accounts; -1 without them
	passesSignature                               bool
}

// layoutOf returns the layout of an instruction of the swap program by its discriminator.
func layoutOf(data []byte) (routeLayout, bool) {
	switch {
	case bytes.HasPrefix(data, sharedRoute):
		return routeLayout{amounts: 9, user: 1, source: 2, pooledSource: 3, pooledDestination: 4, destination: 5, inMint: 6, outMint: 7,
			inProgram: 8, outProgram: 9, events: 10, program: 11, fixed: 12}, true
	case bytes.HasPrefix(data, directRoute):
		return routeLayout{amounts: 8, user: 0, source: 1, destination: 2, inMint: 3, outMint: 4, inProgram: 5, outProgram: 6,
			events: 8, program: 9, fixed: 10, pooledSource: -1, pooledDestination: -1, passesSignature: true}, true
	}
	return routeLayout{}, false
}

// Offsets of the numbers behind routeLayout.amounts: the amount in is at 0, then come the quoted amount, the slippage, the platform fee, the
// share of positive slippage and the number of steps.
const (
	quotedAt      = 8
	slippageAt    = 16
	platformFeeAt = 18
	positiveAt    = 20
	stepsAt       = 22
	amountsLength = 26
)

// swapCodec is the row of the swap program's instruction: shared_accounts_route_v2 only.
func swapCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionSwap, Programs: []wallet.Address{wallet.SwapProgram}, Principal: true, Check: checkSwap,
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			if !bytes.HasPrefix(c.Data(), sharedRoute) {
				return wallet.Action{}, refuse(UnknownInstruction, "an instruction of the swap program that is not allowed here")
			}
			return decodeRoute(c)
		},
		Matches: matchesSwap,
		Encode: func(a wallet.Action) Instruction {
			accounts := make([]Account, len(a.Swap.Route.Accounts))
			for i, r := range a.Swap.Route.Accounts {
				accounts[i] = Account{Address: r.Address, Signer: r.Address == a.From, Writable: r.Writable}
				if r.LookedUp && int(r.Table) < len(a.Swap.Route.Tables) {
					accounts[i] = Account{Writable: r.Writable, Table: a.Swap.Route.Tables[r.Table], Index: r.Index}
				}
			}
			return Instruction{wallet.SwapProgram, accounts, a.Swap.Route.Data}
		}}
}

// decodeRoute reads an instruction of the swap program for signing: rules b to p of signer/page/decode.js.
func decodeRoute(c Call) (wallet.Action, error) {
	at, known := layoutOf(c.Data())
	if !known || len(c.Data()) < at.amounts+amountsLength || c.Len() < at.fixed {
		return wallet.Action{}, refuse(Malformed, "not a whole instruction of the swap program")
	}
	if err := checkRouteAccounts(c, at); err != nil {
		return wallet.Action{}, err
	}
	numbers := c.Data()[at.amounts:]
	s := &wallet.SwapAction{Source: c.At(at.source), Destination: c.At(at.destination), InMint: c.At(at.inMint), OutMint: c.At(at.outMint),
		Units: binary.LittleEndian.Uint64(numbers), Quoted: binary.LittleEndian.Uint64(numbers[quotedAt:]),
		SlippageBPS: binary.LittleEndian.Uint16(numbers[slippageAt:]), PassesSignature: at.passesSignature, Route: c.route()}
	s.Minimum = wallet.MinimumOut(s.Quoted, s.SlippageBPS)
	switch {
	case s.Units == 0:
		return wallet.Action{}, refuse(ZeroAmount, "it swaps nothing")
	case binary.LittleEndian.Uint16(numbers[platformFeeAt:]) != 0 || binary.LittleEndian.Uint16(numbers[positiveAt:]) != 0:
		return wallet.Action{}, refuse(SwapFee, "somebody takes a fee from what is received")
	case s.SlippageBPS > wallet.MaxSlippage:
		return wallet.Action{}, refuse(Slippage, "it may bring far less than was quoted")
	case s.Minimum == 0:
		return wallet.Action{}, refuse(ZeroAmount, "it may bring nothing")
	case binary.LittleEndian.Uint32(numbers[stepsAt:]) == 0:
		return wallet.Action{}, refuse(Malformed, "a swap without a route")
	}
	return wallet.Action{Type: wallet.ActionSwap, From: c.Payer(), Swap: s}, nil
}

// checkRouteAccounts judges the accounts of a swap: rules c to k.
func checkRouteAccounts(c Call, at routeLayout) error {
	fixed := c.in.accounts[:at.fixed]
	pooled := func(i int) bool { return i >= 0 && (c.Same(i, at.source) || c.Same(i, at.destination)) }
	own := func(mint int) wallet.Address {
		return wallet.AssociatedAccount(c.Payer(), c.At(mint), wallet.TokenProgram)
	}
	switch {
	case c.m.looksUp(fixed):
		return refuse(LookupTables, "its first accounts come from a lookup table")
	case !c.IsPayer(at.user):
		return refuse(NotTheOwner, "it swaps for somebody else")
	case c.At(at.inProgram) != wallet.TokenProgram || c.At(at.outProgram) != wallet.TokenProgram:
		return refuse(UnknownProgram, "its tokens are not of the first token program")
	case c.At(at.events) != swapEvents || c.At(at.program) != wallet.SwapProgram:
		return refuse(Malformed, "not a whole instruction of the swap program")
	case c.Same(at.inMint, at.outMint):
		return refuse(SelfTransfer, "it swaps a token for itself")
	case c.At(at.source) != own(at.inMint):
		return refuse(NotTheOwner, "it takes from an account that is not this wallet's own")
	case c.At(at.destination) != own(at.outMint):
		return refuse(WrongAccount, "it pays into an account that is not this wallet's own")
	case pooled(at.pooledSource) || pooled(at.pooledDestination):
		return refuse(WrongAccount, "an account of the wallet stands for one of the swap program")
	case !at.passesSignature && slices.Contains(slices.Concat(c.in.accounts[:at.user], c.in.accounts[at.user+1:]), 0):
		return refuse(ExtraAccounts, "it could pass this wallet's signature on to other programs")
	case !c.Writable(at.source) || !c.Writable(at.destination):
		return refuse(Malformed, "a token account that cannot change")
	}
	return nil
}

// route is the instruction as the message holds it.
func (c Call) route() wallet.SwapRoute {
	r := wallet.SwapRoute{Data: slices.Clone(c.Data())}
	for _, l := range c.m.lookups {
		r.Tables = append(r.Tables, l.table)
	}
	for _, index := range c.in.accounts {
		if key, ok := c.m.key(index); ok {
			r.Accounts = append(r.Accounts, wallet.RouteAccount{Address: key, Writable: c.m.writable(index)})
			continue
		}
		table, at, writable := c.m.lookedUp(index)
		r.Accounts = append(r.Accounts, wallet.RouteAccount{LookedUp: true, Table: table, Index: at, Writable: writable})
	}
	return r
}

// checkSwap requires that a message with a swap has exactly the steps of one, in their order (docs/decisions/0042).
func checkSwap(all []wallet.Action, at int) error {
	s, from := all[at].Swap, all[at].From
	create := func(account, mint wallet.Address) wallet.Action {
		return wallet.Action{Type: wallet.ActionCreateAccount, From: from, To: from, Account: account, Mint: mint, Program: wallet.TokenProgram}
	}
	var want []wallet.Action
	if s.InMint == wallet.WrappedSOL {
		want = append(want, create(s.Source, s.InMint),
			wallet.Action{Type: wallet.ActionWrap, From: from, Account: s.Source, Lamports: s.Units},
			wallet.Action{Type: wallet.ActionSyncNative, Account: s.Source})
	}
	want = append(want, create(s.Destination, s.OutMint))
	if i := len(want); i < len(all) && all[i].Type == wallet.ActionReference {
		want = append(want, all[i])
	}
	want = append(want, all[at])
	switch wallet.WrappedSOL {
	case s.InMint:
		want = append(want, wallet.Action{Type: wallet.ActionUnwrap, From: from, Account: s.Source})
	case s.OutMint:
		want = append(want, wallet.Action{Type: wallet.ActionUnwrap, From: from, Account: s.Destination})
	}
	if !reflect.DeepEqual(all, want) {
		return refuse(WrongAccount, "its steps are not those of a swap")
	}
	return nil
}

// matchesSwap tells whether an instruction on chain is the swap that was intended: the same data, by the same wallet, between the same
// accounts.
func matchesSwap(c Call, intended wallet.Action) bool {
	at, known := layoutOf(c.Data())
	want := intended.Swap
	return known && want != nil && bytes.Equal(c.Data(), want.Route.Data) && c.Len() >= at.fixed &&
		c.IsPayer(at.user) && c.Payer() == intended.From && c.At(at.source) == want.Source && c.At(at.destination) == want.Destination
}
