package main

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"purser/terminal"
)

// signCommand signs with a key file what a link from the chat offers.
func signCommand(out io.Writer) *cobra.Command {
	var keyFile, history string
	cmd := &cobra.Command{
		Use: "sign --key FILE [LINK]", Short: "Sign with a key file instead of the signing page",
		Long: "For keys in a file, as solana-keygen writes it. LINK is the address behind the button in the chat. Without it,\n" +
			"the command asks for it. The link connects the key's wallet, signs one transaction,\n" +
			"unfreezes your account, or sets spending limits of the wallet.\n" +
			"You see everything before it is signed. The command keeps a history of what it signed (--history) and warns you\n" +
			"before you sign the same payment twice, or on another network than before.",
		Example: "  purser sign --key ~/.config/solana/id.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || keyFile == "" {
				return fmt.Errorf("name a key file: %s --key FILE. It asks for the link", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := terminal.ReadKey(keyFile)
			if err != nil {
				return err
			}
			defer clear(key)
			link := ""
			if len(args) == 1 {
				link = args[0]
			}
			remembered := terminal.History{Path: history}
			if history == "" {
				if remembered, err = terminal.DefaultHistory(); err != nil {
					return fmt.Errorf("there is no folder for the history: name a file with --history: %w", err)
				}
			}
			signer := &terminal.Signer{Key: key, History: remembered, In: bufio.NewReader(cmd.InOrStdin()), Out: out, Now: time.Now}
			return signer.Follow(cmd.Context(), link)
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "the key file")
	cmd.Flags().StringVar(&history, "history", "", "file with the history of what was signed (default: purser/signed.json in your configuration folder)")
	return cmd
}
