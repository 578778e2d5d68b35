package terminal

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/chain"
	"purser/market"
	"purser/wallet"
)

// Signer signs with one key, after it has shown a person at a terminal what it signs.
type Signer struct {
	Key     ed25519.PrivateKey
	History History
	In      *bufio.Reader
	Out     io.Writer
	Now     func() time.Time
}

// ErrDeclined is returned when the person does not answer yes.
var ErrDeclined = errors.New("you did not type yes: nothing was signed")

// Follow does what the link is for: it connects the key's wallet, signs a transaction, unfreezes an account, or sets spending limits. It asks for the link if none is
// given, because arguments are visible in the list of processes.
func (s *Signer) Follow(ctx context.Context, text string) error {
	if text == "" {
		fmt.Fprint(s.Out, "Paste the link behind the button in your chat: ")
		line, err := s.In.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return ErrDeclined
		}
		text = line
	}
	l, err := readLink(text)
	if err != nil {
		return err
	}
	server := newCaller(l.origin)
	switch l.kind {
	case "b":
		return s.connect(ctx, server, l.secret)
	case "u":
		return s.unfreeze(ctx, server, l.secret)
	case "l":
		return s.limits(ctx, server, l.secret)
	}
	return s.sign(ctx, server, l.secret)
}

// asks returns true only for the answer yes.
func (s *Signer) asks(question string) error {
	const yes = "yes"
	answer, err := s.answer(fmt.Sprintf("%s Type %s and Enter to go on, anything else to stop: ", question, yes))
	if err != nil || answer != yes {
		return ErrDeclined
	}
	return nil
}

// answer puts a question and returns the line that was typed, without blanks at its ends.
func (s *Signer) answer(question string) (string, error) {
	fmt.Fprint(s.Out, question)
	answer, err := s.In.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", ErrDeclined
	}
	return strings.TrimSpace(answer), nil
}

// challenge is the answer of /w/bind/challenge, and part of that of /w/unfreeze/challenge.
type challenge struct {
	TelegramID string `json:"telegram_id"`
	Name       string `json:"telegram_name"`
	Username   string `json:"username"`
	Chain      string `json:"chain"`
	Nonce      string `json:"nonce"`
	IssuedAt   string `json:"issued_at"`
	ExpiresAt  string `json:"expires_at"`
}

var nonceShape = regexp.MustCompile(`^[0-9A-Za-z]{8,64}$`)

// proofText is wallet.SignInText or wallet.UnfreezeText.
type proofText func(host, origin string, address wallet.Address, account, chain, nonce string, issued, expires time.Time) string

// text composes what is signed, from fields that can say nothing else than they should.
func (c challenge) text(origin *caller, address wallet.Address, compose proofText) (string, error) {
	odd := func(what string) error {
		return fmt.Errorf("the server sent something unexpected (%s); nothing was signed", what)
	}
	id, err := strconv.ParseInt(c.TelegramID, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != c.TelegramID {
		return "", odd("telegram_id")
	}
	if !slices.Contains(wallet.Clusters(), c.Chain) {
		return "", odd("chain")
	}
	if !nonceShape.MatchString(c.Nonce) {
		return "", odd("nonce")
	}
	issued, err := time.Parse(time.RFC3339, c.IssuedAt)
	expires, bad := time.Parse(time.RFC3339, c.ExpiresAt)
	if err != nil || bad != nil {
		return "", odd("time")
	}
	return compose(origin.origin.Host, origin.origin.String(), address, wallet.TelegramAccount(id),
		c.Chain, c.Nonce, issued, expires), nil
}

// who names the person, in characters that are safe to print.
func (c challenge) who() string {
	who := tame(c.Name, 64)
	if c.Username != "" {
		who += " (@" + tame(c.Username, 32) + ")"
	}
	return who
}

// connect proves that the key's wallet belongs to a Telegram account.
func (s *Signer) connect(ctx context.Context, server *caller, token string) error {
	var c challenge
	if err := server.post(ctx, "/w/bind/challenge", map[string]string{"token": token}, &c); err != nil {
		return err
	}
	address := addressOf(s.Key)
	text, err := c.text(server, address, wallet.SignInText)
	if err != nil {
		return err
	}
	who := c.who()
	fmt.Fprintf(s.Out, "Connect a wallet\n  Wallet    %s\n  Telegram  %s, id %s\n  Server    %s\n\n"+
		"Did somebody else send you this link? Then stop: it would connect your wallet to their account.\n", address, who, c.TelegramID, server.origin.Host)
	known, err := s.History.read()
	if err != nil {
		return err
	}
	s.warnOfNetwork(known.Networks[address.String()], c.Chain)
	if err := s.asks("Is this your own Telegram account?"); err != nil {
		return err
	}
	// The text was composed here, so the key signs nothing that the server wrote. Only after the server has accepted the proof
	// is the network of the wallet noted.
	signature := wallet.Signature(ed25519.Sign(s.Key, []byte(text)))
	var done struct {
		Address wallet.Address `json:"address"`
	}
	err = server.post(ctx, "/w/bind", map[string]string{"token": token, "address": address.String(),
		"signature": signature.String(), "wallet_type": string(wallet.ExternalWallet)}, &done)
	if err != nil {
		return err
	}
	if err := s.History.pin(address.String(), c.Chain); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Proven. Go back to the chat: it asks which address you see. Yours ends in %s.\n", address.Tail())
	return err
}

// offer is the answer of /w/tx/get and /w/tx/refresh.
type offer struct {
	Status    string  `json:"status"`
	Address   string  `json:"address"`
	Chain     string  `json:"chain"`
	Message   *string `json:"message"`
	ExpiresAt string  `json:"expires_at"`
	Recipient string  `json:"recipient"`
	Terms     struct {
		ValidatorName string `json:"validator_name"` // of a stake: what the validator calls itself
	} `json:"terms"` // the kind's own data
}

// read decodes what an offer wants signed by this key.
func (o offer) read(address wallet.Address) ([]byte, wallet.Decoded, error) {
	if o.Message == nil {
		return nil, wallet.Decoded{}, fmt.Errorf("there is nothing to sign: the transaction is %s", tame(o.Status, 40))
	}
	if o.Address != address.String() {
		return nil, wallet.Decoded{}, fmt.Errorf("this asks for the signature of %s, and your key file is %s", tame(o.Address, 64), address)
	}
	// Strict refuses stray bits at the end, which other decoders would drop.
	message, err := base64.StdEncoding.Strict().DecodeString(*o.Message)
	if err != nil {
		return nil, wallet.Decoded{}, errors.New("the server sent something unexpected (message); nothing was signed")
	}
	d, err := chain.Decode(message, address)
	if err != nil {
		return nil, d, fmt.Errorf("this is no plain payment, and is not signed: %w", err)
	}
	return message, d, nil
}

// sign shows a transaction, asks, takes a fresh blockhash, makes sure that nothing else has changed,
// and hands in the signature.
func (s *Signer) sign(ctx context.Context, server *caller, id string) error {
	address := addressOf(s.Key)
	var first, fresh offer
	if err := server.post(ctx, "/w/tx/get", map[string]string{"id": id}, &first); err != nil {
		return err
	}
	// Read and show. All but network, time and names comes from the bytes themselves.
	_, shown, err := first.read(address)
	if err != nil {
		return err
	}
	known, err := s.History.read()
	if err != nil {
		return err
	}
	payment := describe(address, shown)
	// What this machine signed before speaks against signing it again.
	same, alike := known.before(payment, s.Now())
	if err := s.show(first, shown); err != nil {
		return err
	}
	s.warnOfNetwork(known.Networks[address.String()], first.Chain)
	if alike != nil {
		fmt.Fprintf(s.Out, "You signed a payment of the same amount to the same recipient on %s. Go on only if you want to pay again.\n", alike.At.Local().Format(moment))
	}
	if same != nil {
		again, err := s.sendAgain(ctx, server, id, same)
		if again || err != nil {
			return err
		}
	}
	if err := s.asks("Compare amount and address with what you want to pay."); err != nil {
		return err
	}
	// The person may have read for minutes: take a new blockhash, and sign only if nothing else has changed (Intent).
	if err := server.post(ctx, "/w/tx/refresh", map[string]string{"id": id}, &fresh); err != nil {
		return err
	}
	message, again, err := fresh.read(address)
	if err != nil {
		return err
	}
	if again.Intent != shown.Intent || fresh.Chain != first.Chain || again.Blockhash == [32]byte{} {
		return errors.New("after you approved it, the server offered another transaction: nothing was signed. Do not use it until its operator has explained this")
	}
	// The signature is noted before it leaves. If the process dies in between, the next run warns of a payment that may not
	// have been sent, which does no harm; the other order could pay twice without a warning.
	sum := sha256.Sum256(message)
	signature := wallet.Signature(ed25519.Sign(s.Key, message))
	payment.At, payment.Signature, payment.SHA256 = s.Now(), signature.String(), hex.EncodeToString(sum[:])
	if err := s.History.note(payment, first.Chain); err != nil { // before it leaves this machine
		return err
	}
	return s.handOver(ctx, server, map[string]string{"id": id, "message_sha256": hex.EncodeToString(sum[:]), "signature": signature.String()})
}

// moment is how a time is written in a sentence.
const moment = "2 Jan 2006 at 15:04"

// describe is what is noted of a payment.
func describe(address wallet.Address, d wallet.Decoded) signedPayment {
	p := signedPayment{Intent: hex.EncodeToString(d.Intent[:]), Address: address.String()}
	staked := "all" // a deactivation without a split says no amount
	for _, a := range d.Actions {
		switch a.Type {
		case wallet.ActionCreateStake: // its address is another one each time
			staked = strconv.FormatUint(a.Lamports, 10)
			continue
		case wallet.ActionSplitStake:
			staked = fmt.Sprintf("%d %s", a.Lamports, a.Source)
			continue
		case wallet.ActionDelegate:
			p.Paid = fmt.Sprintf("stake %s %s", staked, a.To)
		case wallet.ActionDeactivate:
			if staked == "all" {
				staked += " " + a.Account.String()
			}
			p.Paid = "unstake " + staked
		case wallet.ActionWithdrawStake:
			p.Paid = fmt.Sprintf("withdraw %d %s", a.Lamports, a.Account)
		case wallet.ActionSwap:
			p.Paid = fmt.Sprintf("swap %s %d %s", a.Swap.InMint, a.Swap.Units, a.Swap.OutMint)
		case wallet.ActionRevoke: // to do it twice costs nothing: no two are alike
			p.Paid = fmt.Sprintf("revoke %s %s", a.Account, a.Reference)
		case wallet.ActionReference: // of a swap
		case wallet.ActionTransfer:
			p.Paid = fmt.Sprintf("SOL %d %s", a.Lamports, a.To)
		case wallet.ActionTokenTransfer:
			p.Paid = fmt.Sprintf("%s %d %s", a.Mint, a.Units, a.Account)
		default:
			continue
		}
		if !a.Reference.IsZero() {
			p.Reference = a.Reference.String()
		}
	}
	return p
}

// sendAgain warns of a payment that was signed here before. It reports whether the same signature was handed in
// once more; if not, the person wants a second one.
func (s *Signer) sendAgain(ctx context.Context, server *caller, id string, same *signedPayment) (bool, error) {
	// The stored signature belongs to an older blockhash. Solana takes it at most once, so it is safe to send at any time.
	fmt.Fprintf(s.Out, "WARNING: you signed this transaction on %s, and the server asks for it again. Two signatures may carry it out twice.\n"+
		"The first signature is %s. Sending it again is safe: Solana takes it once.\n", same.At.Local().Format(moment), tame(same.Signature, 100))
	answer, err := s.answer("Type again to send the same signature, second to sign a second time, anything else to stop: ")
	switch {
	case err != nil:
		return false, err
	case answer == "again":
		return true, s.handOver(ctx, server, map[string]string{"id": id, "message_sha256": same.SHA256, "signature": same.Signature})
	case answer == "second":
		return false, nil
	}
	return false, ErrDeclined
}

// warnOfNetwork warns if the wallet was used on another network before, because a signature does not name its network.
func (s *Signer) warnOfNetwork(known, now string) {
	if known == "" || known == now {
		return
	}
	fmt.Fprintf(s.Out, "WARNING: the network changed. This wallet is used on %s, and the server now says %s.\n"+
		"A signature works on every network: read the amount as real money.\n", tame(known, 16), tame(now, 16))
}

// handOver sends the signature. Sending the same one again is safe.
func (s *Signer) handOver(ctx context.Context, server *caller, body map[string]string) error {
	var done struct {
		Status string `json:"status"`
	}
	var err error
	// Only a lost answer is tried again, at once. A signature that has arrived already is accepted again.
	for range 3 {
		err = server.post(ctx, "/w/tx/signature", body, &done)
		var refused *refusedError
		if err == nil {
			_, err = fmt.Fprintf(s.Out, "Signed. The chat shows when the network has confirmed the payment.\nTransaction signature %s\n", body["signature"])
			return err
		}
		if errors.As(err, &refused) || ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("%w. The signature may have arrived: look in the chat before you start again", err)
}

// validatorName is what a validator calls itself, as a remark behind its address.
func validatorName(name string) string {
	if name == "" {
		return ""
	}
	return " (the server says it calls itself " + tame(name, 64) + ")"
}

// show prints what it decoded from the bytes. Only network and time come from the server.
func (s *Signer) show(o offer, d wallet.Decoded) error {
	tokens, err := market.Listed(o.Chain)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Sign a payment, as read from the transaction itself\n")
	line, recipient := s.line, s.compared
	for _, a := range d.Actions {
		switch a.Type {
		case wallet.ActionTransfer:
			line("Amount", wallet.Lamports(a.Lamports).String()+" SOL")
			recipient("To", a.To, "")
		case wallet.ActionTokenTransfer:
			name := "of the unlisted token " + a.Mint.String()
			if token, ok := tokens.ByMint(a.Mint); ok {
				if token.Decimals != a.Decimals {
					return fmt.Errorf("it counts %s with %d decimals, and there are %d: not signed", token.Symbol, a.Decimals, token.Decimals)
				}
				name = token.Symbol + " (mint " + a.Mint.String() + ")"
			}
			line("Amount", wallet.Amount{Units: a.Units, Decimals: a.Decimals}.String()+" "+name)
			to := a.To
			// A token transfer names the recipient's token account, not the recipient. The server's claim who that is counts only
			// if the account is the one that belongs to this wallet and this token.
			if claimed, err := wallet.ParseAddress(o.Recipient); to.IsZero() && err == nil && wallet.AssociatedAccount(claimed, a.Mint, a.Program) == a.Account {
				to = claimed
			}
			if to.IsZero() {
				recipient("To account", a.Account, " (whose it is cannot be told)")
			} else {
				recipient("To", to, "")
			}
		case wallet.ActionCreateAccount:
			whose := "the recipient's"
			if a.To == d.FeePayer {
				whose = "this wallet's, if it is missing"
			}
			line("New account", whose+", for this token: its deposit of about 0.002 SOL, once")
		case wallet.ActionMemo:
			line("Note", tame(a.Text, 512))
		case wallet.ActionRevoke:
			line("Revoke", "the right of others to spend"+heldIn(tokens, d.FeePayer, a))
			recipient("Account", a.Account, "")
		default:
			if shown := s.showSwap(tokens, a); shown {
				continue
			}
			if err := s.showStaking(o, a); err != nil {
				return err
			}
		}
	}
	line("From", d.FeePayer.String())
	line("Network fee", wallet.Lamports(d.Fee).String()+" SOL")
	line("Network", tame(o.Chain, 16)+", says the server")
	return nil
}

// heldIn names the token of the account whose delegate is taken away, if the account proves it: the associated account of a
// listed token. Otherwise the bytes do not say which token it holds.
func heldIn(tokens *market.Tokens, owner wallet.Address, a wallet.Action) string {
	for _, token := range tokens.All() {
		if token.Program == a.Program && wallet.AssociatedAccount(owner, token.Mint, token.Program) == a.Account {
			return " your " + token.Symbol + " (mint " + token.Mint.String() + ")"
		}
	}
	return " from a token account; which token it holds cannot be told"
}

// showSwap prints a step of a swap; false for any other action.
func (s *Signer) showSwap(tokens *market.Tokens, a wallet.Action) bool {
	switch a.Type {
	case wallet.ActionSwap:
		s.line("Pay exactly", side(tokens, a.Swap.InMint, a.Swap.Units))
		s.line("Get at least", side(tokens, a.Swap.OutMint, a.Swap.Minimum))
		s.line("Expected", side(tokens, a.Swap.OutMint, a.Swap.Quoted))
		s.line("Route", "by Jupiter's program; the programs on it get no signature of this wallet")
	case wallet.ActionWrap:
		s.line("Wrap", wallet.Lamports(a.Lamports).String()+" SOL in this wallet's own account, for the swap")
	case wallet.ActionUnwrap:
		s.line("Unwrap", "all of this wallet's wrapped SOL, to this wallet")
	case wallet.ActionSyncNative, wallet.ActionReference: // nothing moves
	default:
		return false
	}
	return true
}

// side writes one side of a swap. The bytes do not say how many decimals an unlisted token has: it is counted in base units.
func side(tokens *market.Tokens, mint wallet.Address, units uint64) string {
	if mint == wallet.WrappedSOL {
		return wallet.Lamports(units).String() + " SOL"
	}
	if token, ok := tokens.ByMint(mint); ok {
		return token.Amount(units).String() + " " + token.Symbol + " (mint " + mint.String() + ")"
	}
	return strconv.FormatUint(units, 10) + " base units of the unlisted token " + mint.String()
}

// showStaking prints an action of staking. An action that cannot be shown is an error: it is not signed.
func (s *Signer) showStaking(o offer, a wallet.Action) error {
	line, recipient := s.line, s.compared
	switch a.Type {
	case wallet.ActionCreateStake:
		line("Into", wallet.Lamports(a.Lamports).String()+" SOL go into the new stake account "+a.Account.String())
	case wallet.ActionInitializeStake:
		line("Authorities", "only this wallet can undelegate and withdraw it; no lockup")
	case wallet.ActionDelegate:
		recipient("Validator", a.To, validatorName(o.Terms.ValidatorName))
	case wallet.ActionSplitStake:
		line("Undelegate", wallet.Lamports(a.Lamports).String()+" SOL of the stake account "+a.Source.String())
	case wallet.ActionMergeStake:
		line("Merge", a.Source.String()+" into "+a.Account.String())
	case wallet.ActionDeactivate:
		recipient("Undelegate", a.Account, " (all of this stake account)")
	case wallet.ActionWithdrawStake:
		line("Withdraw", wallet.Lamports(a.Lamports).String()+" SOL to this wallet")
		recipient("From stake", a.Account, "")
	default:
		return fmt.Errorf("it does something that this version cannot show (%s): not signed", tame(a.Type, 64))
	}
	return nil
}

// line prints a line of what is signed: its name in a column of its own.
func (s *Signer) line(name, value string) { fmt.Fprintf(s.Out, "  %-12s %s\n", name, value) }

// compared prints an address with a remark, and once more in groups to compare it by.
func (s *Signer) compared(name string, address wallet.Address, note string) {
	s.line(name, address.String()+note)
	s.line("", address.Grouped())
}
