package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// notificationsData is `data` of every endpoint about notifications.
type notificationsData struct {
	Enabled   bool     `json:"enabled"`
	Events    []string `json:"events"` // names of events; [] for none
	UpdatedAt string   `json:"updated_at"`
}

// notificationsOf renders settings of notifications.
func notificationsOf(n wallet.Notifications) notificationsData {
	return notificationsData{n.Enabled, append([]string{}, n.Events...), stamp(n.UpdatedAt)}
}

// ofPerson returns USER_NOT_FOUND for an ownerless key: there is no person whose settings or chat it could use.
func ofPerson(key wallet.Key) error {
	if key.Owner == "" {
		return wallet.Refuse(wallet.UserNotFound, "person.none")
	}
	return nil
}

// notifications is GET /v1/notifications: which events the key's owner gets as messages in their chat.
func (s *Server) notifications(c *fiber.Ctx, key wallet.Key) error {
	if err := ofPerson(key); err != nil {
		return err
	}
	n, err := s.Notifications.Of(c.UserContext(), handlers.CallerOf(key))
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "done.notifications", notificationsOf(n))
}

// setNotifications is PUT /v1/notifications {enabled, events}: the owner's own settings.
func (s *Server) setNotifications(c *fiber.Ctx, key wallet.Key) error {
	if err := ofPerson(key); err != nil {
		return err
	}
	return s.putNotifications(c, func(tx store.Tx, enabled bool, events []string) (wallet.Notifications, error) {
		return s.Notifications.Set(tx, handlers.CallerOf(key), enabled, events)
	})
}

// setUserNotifications is PUT /v1/telegram/user/{chat_id}/notifications {enabled, events}: which events about a
// person the token's app gets. It does not change which messages the person gets in the chat.
func (s *Server) setUserNotifications(c *fiber.Ctx, key wallet.Key) error {
	id, err := parseTelegramID("chat_id", c.Params("chat_id"))
	if err != nil {
		return err
	}
	person, err := s.People.ByTelegram(c.UserContext(), handlers.CallerOf(key), id, wallet.BotUsers)
	if err != nil {
		return err
	}
	return s.putNotifications(c, func(tx store.Tx, enabled bool, events []string) (wallet.Notifications, error) {
		return s.Notifications.SetForApp(tx, s.People, handlers.CallerOf(key), person.ID, enabled, events)
	})
}

// putNotifications parses new settings, stores them with put in one Update, and answers with them. It has no
// Idempotency-Key: a PUT can be repeated.
func (s *Server) putNotifications(c *fiber.Ctx, put func(tx store.Tx, enabled bool, events []string) (wallet.Notifications, error)) error {
	// Both fields are required: a PUT replaces the settings as a whole.
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("enabled", "events"); err != nil {
		return err
	}
	if _, given := fields["enabled"]; !given {
		return bad("enabled", "body.missing")
	}
	enabled, err := fields.boolean("enabled", false)
	if err != nil {
		return err
	}
	events, err := fields.texts("events", maxEvents)
	if err != nil {
		return err
	}
	var set wallet.Notifications
	err = s.Store.Update(c.UserContext(), func(tx store.Tx) error {
		set, err = put(tx, enabled, events)
		return err
	})
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "done.notifications_set", notificationsOf(set))
}

// maxEvents is the most names in a list of events.
const maxEvents = 50
