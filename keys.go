package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"purser/api"
	"purser/chat"
	"purser/config"
	"purser/handlers"
	"purser/locale"
	"purser/product"
	"purser/wallet"
)

// keyCommand manages API keys, beside a running server or without one.
func keyCommand(settings *config.Options, world *worldOptions, out io.Writer) *cobra.Command {
	parent := &cobra.Command{Use: "key", Short: "Create, list, rotate and revoke API keys, and change their tier"}
	with := func(do keyWork) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), *settings, *world, func(ctx context.Context, keys api.KeyService) error { return do(ctx, keys, args) })
		}
	}
	parent.AddCommand(createCommand(with, out), listCommand(with, out), rotateCommand(settings, world, out), tierCommand(with, out), revokeCommand(with, out))
	return parent
}

// keyWork is what a command does with the keys of a running purser, or of its store.
type keyWork func(ctx context.Context, keys api.KeyService, args []string) error

// keyRun makes what cobra runs of it.
type keyRun func(keyWork) func(*cobra.Command, []string) error

func createCommand(with keyRun, out io.Writer) *cobra.Command {
	var req handlers.KeyRequest
	var kind, tier string
	var scopes []string
	var expires time.Duration
	var asJSON bool
	create := &cobra.Command{
		Use: "create", Short: "Create a key and print its secret once", Args: cobra.NoArgs,
		Example: "  purser key create --owner 1001\n  purser key create --kind api --tier pro --scopes wallet:read --json",
		RunE: with(func(ctx context.Context, keys api.KeyService, _ []string) error {
			req.Kind, req.Tier = wallet.KeyKind(kind), wallet.Tier(tier)
			for _, scope := range scopes {
				req.Scopes = append(req.Scopes, wallet.Scope(scope))
			}
			if expires > 0 {
				req.ExpiresAt = time.Now().Add(expires).UTC()
			}
			key, secret, err := keys.Create(ctx, req)
			if err != nil {
				return plain(err)
			}
			return printKey(out, key, secret, asJSON)
		}),
	}
	flags := create.Flags()
	flags.StringVar(&kind, "kind", string(wallet.APIKey), "api or bot")
	flags.StringVar(&tier, "tier", string(wallet.FreeTier), "free or pro")
	flags.StringSliceVar(&scopes, "scopes", nil, "scopes (default: all of its kind): "+scopeNames(wallet.Scopes()))
	flags.Var((*telegramID)(&req.OwnerTelegramID), "owner", "Telegram id of its owner (default: no owner, an operator's key)")
	flags.StringVar(&req.App, "app", "", "name of an app that people can give access to (default: none)")
	flags.DurationVar(&expires, "expires", 0, "how long it works, for example 720h (default: forever)")
	flags.BoolVar(&asJSON, "json", false, `print {"id", "key"}`)
	return create
}

func listCommand(with keyRun, out io.Writer) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List keys, without their secrets", Args: cobra.NoArgs,
		RunE: with(func(ctx context.Context, keys api.KeyService, _ []string) error {
			all, err := keys.List(ctx)
			if err != nil {
				return plain(err)
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(out, "There are no keys. Create one: purser key create --help")
				return err
			}
			for _, key := range all {
				text, err := describe(key, time.Now())
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(out, text); err != nil {
					return err
				}
			}
			return nil
		})}
}

func revokeCommand(with keyRun, out io.Writer) *cobra.Command {
	return &cobra.Command{Use: "revoke ID", Short: "Revoke a key now", Args: oneKey,
		RunE: with(func(ctx context.Context, keys api.KeyService, args []string) error {
			key, err := keys.Revoke(ctx, args[0])
			if err != nil {
				return plain(err)
			}
			_, err = fmt.Fprintf(out, "%s is revoked.\n", key.ID)
			return err
		})}
}

func tierCommand(with keyRun, out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "tier ID free|pro", Short: "Change a key's tier. On free its webhooks stop; back on pro they continue",
		Example: "  purser key tier key_01j9 pro",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("name one key by its id, and its tier: %s ID free|pro", cmd.CommandPath())
			}
			return nil
		},
		RunE: with(func(ctx context.Context, keys api.KeyService, args []string) error {
			key, err := keys.SetTier(ctx, args[0], wallet.Tier(args[1]))
			if err != nil {
				return plain(err)
			}
			_, err = fmt.Fprintf(out, "%s has the tier %s.\n", key.ID, key.Tier)
			return err
		}),
	}
}

// oneKey wants the id of one key.
func oneKey(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one key by its id: %s list shows them", cmd.Parent().CommandPath())
	}
	return nil
}

// rotateCommand makes the successor of a key.
func rotateCommand(settings *config.Options, world *worldOptions, out io.Writer) *cobra.Command {
	var endNow, asJSON bool
	rotate := &cobra.Command{Use: "rotate ID", Short: "Create a key that replaces this one; the old key works for 24 more hours", Args: oneKey}
	rotate.RunE = func(cmd *cobra.Command, args []string) error {
		return withKeys(cmd.Context(), *settings, *world, func(ctx context.Context, keys api.KeyService) error {
			key, secret, err := keys.Rotate(ctx, args[0], endNow)
			if err != nil {
				return plain(err)
			}
			return printKey(out, key, secret, asJSON)
		})
	}
	rotate.Flags().BoolVar(&endNow, "now", false, "end the old key immediately")
	rotate.Flags().BoolVar(&asJSON, "json", false, `print {"id", "key"}`)
	return rotate
}

// telegramID is a person's numeric id as a flag.
type telegramID int64

// Set implements pflag.Value.
func (id *telegramID) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return errors.New("a person is named by their numeric Telegram id, for example 1001")
	}
	*id = telegramID(n)
	return nil
}

// String implements pflag.Value.
func (id *telegramID) String() string {
	if *id == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*id), 10)
}

// Type implements pflag.Value: what help calls the value.
func (*telegramID) Type() string { return "id" }

func scopeNames(scopes []wallet.Scope) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func ownerName(key wallet.Key) string {
	if key.Owner == "" {
		return "the operator's"
	}
	return string(key.Owner) + "'s"
}

// describe is a key in the list, on four lines: which it is, what it may do, its use, and whether it works at the time now.
func describe(key wallet.Key, now time.Time) (string, error) {
	may, err := abilities(key.Scopes)
	if err != nil {
		return "", err
	}
	used := "never used"
	if !key.LastUsed.IsZero() {
		used = "last used " + minute(key.LastUsed)
	}
	return fmt.Sprintf("%s  %s  %s  …%s  %s\n    can: %s\n    created %s, %s\n    %s", key.ID, key.Kind, key.Tier, key.Hint, ownerName(key),
		may, minute(key.CreatedAt), used, state(key, now)), nil
}

// abilities says in plain words what scopes allow: "Read wallets (wallet:read), Propose payments (wallet:send)".
func abilities(scopes []wallet.Scope) (string, error) {
	if len(scopes) == 0 {
		return "Nothing: it has no scopes", nil
	}
	var all []string
	for _, scope := range scopes {
		text, err := chat.ScopeInEnglish(scope)
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprintf("%s (%s)", text, scope))
	}
	return strings.Join(all, ", "), nil
}

// state says whether a key works at the time now. A rotated key is revoked in the future: until then it works.
func state(key wallet.Key, now time.Time) string {
	switch {
	case !key.RevokedAt.IsZero() && !now.Before(key.RevokedAt):
		return "ended " + minute(key.RevokedAt) + ": revoked or replaced"
	case !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt):
		return "ended " + minute(key.ExpiresAt) + ": expired"
	case !key.RevokedAt.IsZero() && (key.ExpiresAt.IsZero() || key.RevokedAt.Before(key.ExpiresAt)):
		return "works until " + minute(key.RevokedAt) + ": replaced"
	case !key.ExpiresAt.IsZero():
		return "works until " + minute(key.ExpiresAt)
	}
	return "works until it is revoked"
}

// minute is a moment as the list shows it.
func minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

func printKey(out io.Writer, key wallet.Key, secret string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]string{"id": key.ID, "key": secret})
	}
	may, err := abilities(key.Scopes)
	if err != nil {
		return err
	}
	without := ""
	if key.Tier == wallet.FreeTier && slices.ContainsFunc(key.Scopes, func(s wallet.Scope) bool { return slices.Contains(wallet.ProOnly(), s) }) {
		without = " Webhooks need the pro tier: --tier pro."
	}
	_, err = fmt.Fprintf(out, "%s\n\nThis is key %s. It is shown only once. Keep it secret.\nTier: %s.%s\nIt can: %s.\n", secret, key.ID, key.Tier, without, may)
	return err
}

// plain is an error as an operator reads it.
func plain(err error) error {
	texts, loadErr := locale.Refusals()
	if loadErr != nil {
		return errors.Join(err, loadErr)
	}
	if sentence, sayErr := texts.Printer("en", locale.Style{}).Reason(wallet.ReasonOf(err)); sayErr == nil && sentence != "" {
		return errors.New(sentence)
	}
	return err
}

// withKeys finds the keys of the running server, else of its store.
func withKeys(ctx context.Context, settings config.Options, world worldOptions, do func(context.Context, api.KeyService) error) error {
	err := withOperator(ctx, settings, world, func(ctx context.Context, op operator) error { return do(ctx, op.keys) })
	if errors.Is(err, errNoStore) {
		return fmt.Errorf("%w, and let the key's owner send /start", err)
	}
	return err
}

// operator is what the commands of an operator work on.
type operator struct {
	keys   api.KeyService
	queues api.QueueService
}

// errNoStore says that purser never ran here.
var errNoStore = errors.New("start purser once")

// withOperator finds what an operator works on: the running server by its admin socket, else the store itself.
// Without a bot token both are the sandbox's.
func withOperator(ctx context.Context, settings config.Options, world worldOptions, do func(context.Context, operator) error) error {
	if !config.IsSet(settings, "telegram.token") {
		settings = world.settings(settings)
	}
	c, err := config.Load(settings)
	if err != nil {
		return err
	}
	client, err := api.DialAdmin(api.SocketPath(c.Store.Path))
	if err == nil {
		defer client.Close()
		return do(ctx, operator{keys: client, queues: client})
	}
	if !errors.Is(err, api.ErrNoServer) {
		return err
	}
	if _, err := os.Stat(c.Store.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store at %s yet: %w", c.Store.Path, errNoStore)
	}
	kinds, err := product.NewKinds(product.StandardKinds()...)
	if err != nil {
		return err
	}
	s, _, err := openStore(c, kinds.Rules(), nil)
	if err != nil {
		return err
	}
	offline := product.NewOperator(product.Options{Config: c, Store: s, Now: time.Now, NewID: wallet.TimedIDs(time.Now, rand.Reader), Random: rand.Reader})
	return errors.Join(do(ctx, operator{keys: offline.Keys, queues: offline.Queues}), s.Close())
}
