package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"purser/webhooks"
)

const (
	secretVariable = "PURSER_WEBHOOK_SECRET" // not of config: it is a developer's, not the operator's
	longestRequest = 4 << 20
)

// verifyCommand checks the signature of a delivery that a receiver saved.
func verifyCommand(environ []string, now func() time.Time, out io.Writer) *cobra.Command {
	var (
		secretFile, request string
		headers             []string
		maxAge              time.Duration
	)
	cmd := &cobra.Command{
		Use: "verify --secret-file FILE {--header 'NAME: VALUE'... < BODY | --request FILE}", Short: "Check the signature of a webhook delivery that you saved",
		Long: "For webhook receivers that refuse deliveries. It says which scheme the delivery is signed with, or what is wrong\n" +
			"with the signature. The secret comes from a file or from " + secretVariable + ", because the command\n" +
			"line would stay in the shell's history. The body must be exactly the bytes that arrived.",
		Example: "  purser verify --secret-file hook.secret --request saved.http\n" +
			"  purser verify --header \"x-service-signature: sha256=…\" --header \"x-service-timestamp: …\" < body.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("verify takes no arguments: put the secret into a file (--secret-file), and pipe the body in")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if maxAge < 0 {
				return errors.New("--max-age must be a time such as 5m, or 0 for any age")
			}
			secret, err := secretOf(secretFile, secretVariable, "secret", environ)
			if err != nil {
				return err
			}
			saved, err := savedDelivery(cmd.InOrStdin(), request, headers)
			if err != nil {
				return err
			}
			verified, err := saved.Verify(secret, now(), maxAge)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(out, verified)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&secretFile, "secret-file", "", "file that holds the webhook's secret (default: "+secretVariable+")")
	flags.StringArrayVar(&headers, "header", nil, "a header of the delivery, as 'name: value'; repeatable")
	flags.StringVar(&request, "request", "", "file with the whole request: headers, an empty line, the body")
	flags.DurationVar(&maxAge, "max-age", 5*time.Minute, "how old the delivery may be; 0 for any age")
	return cmd
}

func savedDelivery(in io.Reader, request string, headers []string) (webhooks.Saved, error) {
	var saved webhooks.Saved
	if request != "" {
		file, err := os.Open(request)
		if err != nil {
			return saved, fmt.Errorf("the request cannot be read: %w", err)
		}
		defer file.Close()
		in = file
	} else if typedManually(in) {
		return saved, errors.New("pipe the body in (… < body.json), or name the file with the whole request by --request")
	}
	raw, err := io.ReadAll(io.LimitReader(in, longestRequest+1))
	switch {
	case err != nil:
		return saved, fmt.Errorf("the delivery cannot be read: %w", err)
	case len(raw) > longestRequest:
		return saved, errors.New("the delivery is longer than any that purser sends")
	}
	saved = webhooks.Saved{Header: map[string][]string{}, Body: raw}
	if request != "" {
		if saved, err = webhooks.ParseSaved(raw); err != nil {
			return saved, err
		}
	}
	for _, line := range headers {
		if err := webhooks.AddHeader(saved.Header, line); err != nil {
			return saved, err
		}
	}
	return saved, nil
}

// typedManually tells whether nothing but a person at a keyboard would answer.
func typedManually(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
