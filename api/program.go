package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Endpoints for programs that hold a wallet's key themselves (docs/specification.md, Money).

// challengeData is `data` of POST /v1/wallet/connect/challenge: the text to sign, byte for byte.
type challengeData struct {
	Address   wallet.Address `json:"address"`
	Message   string         `json:"message"`
	ExpiresAt string         `json:"expires_at"`
}

// connectChallenge is POST /v1/wallet/connect/challenge {address}. The program signs the text with the key of the
// address, to prove that it holds that key.
func (s *Server) connectChallenge(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("address"); err != nil {
		return err
	}
	address, err := fields.address("address")
	if err != nil {
		return err
	}
	// The System program's address is a point of the curve by chance. As the zero Address it means "none" in purser.
	if err := address.Payable(); err != nil {
		return about("address", err)
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		invitation, err := s.Wallets.PrepareInvitation(c.UserContext(), handlers.CallerOf(key), address)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusOK, saveAnswer, func(tx store.Tx) ([]byte, error) {
			if err := s.Wallets.CommitInvitation(tx, invitation); err != nil {
				return nil, err
			}
			return s.envelope("done.sign_message",
				challengeData{address, invitation.Message, invitation.ExpiresAt()})
		})
	})
}

// connectData is `data` of POST /v1/wallet/connect. Status proven: the signature is valid, and the chat asks the
// owner. Status done: the wallet is connected.
type connectData struct {
	Address wallet.Address    `json:"address"`
	Status  wallet.BindStatus `json:"status"`
}

// connect is POST /v1/wallet/connect {address, signature}. It answers 202 while the owner is asked, 200 when the
// wallet is connected.
func (s *Server) connect(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("address", "signature"); err != nil {
		return err
	}
	address, signature, err := fields.proof()
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		status, err := s.Wallets.Connect(c.UserContext(), handlers.CallerOf(key), address, signature)
		if err != nil {
			return err
		}
		code, said := fiber.StatusAccepted, "done.wallet_proven"
		if status == wallet.BindDone {
			code, said = fiber.StatusOK, "done.wallet_connected"
		}
		return s.answer(c, code, saveAnswer, func(store.Tx) ([]byte, error) {
			return s.envelope(said, connectData{address, status})
		})
	})
}

// refresh is POST /v1/wallet/transactions/{id}/refresh: the transaction with a fresh blockhash.
func (s *Server) refresh(c *fiber.Ctx, key wallet.Key) error {
	return s.onTransaction(c, key, nil, func(id wallet.TransactionID, _ object) (any, string, error) {
		view, err := s.Signing.Refresh(c.UserContext(), handlers.ByOwner(handlers.CallerOf(key), id))
		if err != nil {
			return nil, "", err
		}
		return sendData{TransactionID: id, Status: view.Status, Recipient: view.Transaction.To, Warnings: warningsFor(key, view.Transaction),
			ExpiresAt: wallet.Timestamp(view.Transaction.Deadline), UnsignedTransaction: unsigned(view)}, "done.sign_transaction", nil
	})
}

// progressData is `data` of …/{id}/signature and …/{id}/reject.
type progressData struct {
	TransactionID wallet.TransactionID `json:"transaction_id"`
	Status        wallet.Status        `json:"status"`
}

// signature is POST /v1/wallet/transactions/{id}/signature {signature | signed_transaction}: a signature over the
// message with the newest blockhash, or the whole transaction as a wallet returned it.
func (s *Server) signature(c *fiber.Ctx, key wallet.Key) error {
	return s.onTransaction(c, key, []string{"signature", "signed_transaction"}, func(id wallet.TransactionID, fields object) (any, string, error) {
		given, err := fields.signed()
		if err != nil {
			return nil, "", err
		}
		status, err := s.Signing.Submit(c.UserContext(), handlers.ByOwner(handlers.CallerOf(key), id), given)
		return progressData{id, status}, "done.signature", err
	})
}

// reject is POST /v1/wallet/transactions/{id}/reject. It ends a transaction that was not signed.
func (s *Server) reject(c *fiber.Ctx, key wallet.Key) error {
	return s.onTransaction(c, key, nil, func(id wallet.TransactionID, _ object) (any, string, error) {
		status, err := s.Signing.Reject(c.UserContext(), handlers.ByOwner(handlers.CallerOf(key), id))
		return progressData{id, status}, "done.rejected", err
	})
}

// onTransaction runs a POST on one transaction; its body is optional and may have only the known fields. The operation
// commits first and the idempotency record after it. After a crash in between, a retry runs the operation again: each
// operation that is passed as do must allow that.
func (s *Server) onTransaction(c *fiber.Ctx, key wallet.Key, known []string, do func(wallet.TransactionID, object) (any, string, error)) error {
	// A malformed id cannot exist, so it gets the same answer as an unknown one.
	id := wallet.TransactionID(c.Params("id"))
	if !saneID(string(id)) {
		return wallet.Refuse(wallet.TransactionNotFound, "transaction_id.unknown")
	}
	fields, err := optionalBody(c)
	if err != nil {
		return err
	}
	if err := fields.only(known...); err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		data, said, err := do(id, fields)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusOK, saveAnswer, func(store.Tx) ([]byte, error) { return s.envelope(said, data) })
	})
}

// answer calls make in a store transaction, and stores the body that it returns under the request's idempotency key
// in the same transaction. It sends the body only after the commit. make may run more than once.
func (s *Server) answer(c *fiber.Ctx, status int, saveAnswer save, make func(store.Tx) ([]byte, error)) error {
	var body []byte
	err := s.Store.Update(c.UserContext(), func(tx store.Tx) error {
		var err error
		if body, err = make(tx); err != nil {
			return err
		}
		return saveAnswer(tx, status, body)
	})
	if err != nil {
		return err
	}
	return sendJSON(c, status, body)
}
