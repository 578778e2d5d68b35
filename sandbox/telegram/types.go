package telegram

import "encoding/json"

// User is a person or a bot, in the Bot API's shape (type User).
type User struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	LastName     string `json:"last_name,omitempty"`
	Username     string `json:"username,omitempty"` // without the @
	LanguageCode string `json:"language_code,omitempty"`
}

// Chat is a private chat (positive id, that of the person) or a group (negative id), in the Bot API's form.
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // "private" or "group"
	Title     string `json:"title,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Username  string `json:"username,omitempty"`
}

// Entity marks a part of a text. Offset and Length are in UTF-16 code units.
type Entity struct {
	Type          string `json:"type"`
	Offset        int    `json:"offset"`
	Length        int    `json:"length"`
	URL           string `json:"url,omitempty"`
	User          *User  `json:"user,omitempty"`
	Language      string `json:"language,omitempty"`
	CustomEmojiID string `json:"custom_emoji_id,omitempty"`
}

// Button is one inline button under a message. Exactly one of URL, CallbackData and CopyText is set.
type Button struct {
	Text         string    `json:"text"`
	URL          string    `json:"url,omitempty"`
	CallbackData string    `json:"callback_data,omitempty"`
	CopyText     *CopyText `json:"copy_text,omitempty"`
	Style        string    `json:"style,omitempty"`
}

// CopyText is the text that a copy button puts on the clipboard.
type CopyText struct {
	Text string `json:"text"`
}

// InlineKeyboard is the rows of inline buttons under a message.
type InlineKeyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Key is one key of a reply keyboard. Tapping it sends its text, or the person's contact, or people whom the person
// chooses.
type Key struct {
	Text           string        `json:"text"`
	RequestContact bool          `json:"request_contact,omitempty"`
	RequestUsers   *RequestUsers `json:"request_users,omitempty"`
}

// RequestUsers lets the person choose people (Bot API KeyboardButtonRequestUsers). The sandbox has no bots and no
// premium accounts to choose from.
type RequestUsers struct {
	RequestID   int32 `json:"request_id"`
	UserIsBot   *bool `json:"user_is_bot,omitempty"` // nil: people and bots
	MaxQuantity int   `json:"max_quantity"`          // 1 to 10
}

// UsersShared are the people whom the person chose (Bot API 7.2). Their names are not included, because no key here
// can request them.
type UsersShared struct {
	RequestID int32        `json:"request_id"`
	Users     []SharedUser `json:"users"`
}

// SharedUser is one chosen person.
type SharedUser struct {
	UserID int64 `json:"user_id"`
}

// ReplyKeyboard is a keyboard shown instead of the ordinary one, or a forced reply.
type ReplyKeyboard struct {
	Rows        [][]Key `json:"keyboard,omitempty"`
	Resize      bool    `json:"resize_keyboard,omitempty"`
	OneTime     bool    `json:"one_time_keyboard,omitempty"`
	Persistent  bool    `json:"is_persistent,omitempty"`
	Placeholder string  `json:"input_field_placeholder,omitempty"`
	ForceReply  bool    `json:"force_reply,omitempty"`
}

// PhotoSize is a stored picture. Width and height are in pixels, the file size in bytes.
type PhotoSize struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	Width        int    `json:"width"`
	Height       int    `json:"height"`
	FileSize     int64  `json:"file_size,omitempty"`
}

// Document is a stored file.
type Document struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileName     string `json:"file_name,omitempty"`
	MimeType     string `json:"mime_type,omitempty"`
	FileSize     int64  `json:"file_size,omitempty"`
}

// Video is a stored video. Its dimensions and duration are what the bot said, because the sandbox decodes no video.
type Video struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	Width        int    `json:"width"`
	Height       int    `json:"height"`
	Duration     int    `json:"duration"` // seconds
	FileName     string `json:"file_name,omitempty"`
	MimeType     string `json:"mime_type,omitempty"`
	FileSize     int64  `json:"file_size,omitempty"`
}

// Location is a point on the map, in degrees.
type Location struct {
	Latitude           float64 `json:"latitude"`
	Longitude          float64 `json:"longitude"`
	HorizontalAccuracy float64 `json:"horizontal_accuracy,omitempty"` // metres
}

// Dice is an emoji with a random value, which Telegram chooses.
type Dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

// Poll is a question with answers to choose from.
type Poll struct {
	ID              string       `json:"id"`
	Question        string       `json:"question"`
	Options         []PollOption `json:"options"`
	TotalVoterCount int          `json:"total_voter_count"`
	IsClosed        bool         `json:"is_closed"`
	IsAnonymous     bool         `json:"is_anonymous"`
	Type            string       `json:"type"` // "regular" or "quiz"
	AllowsMultiple  bool         `json:"allows_multiple_answers"`
}

// PollOption is one answer of a poll.
type PollOption struct {
	Text       string `json:"text"`
	VoterCount int    `json:"voter_count"`
}

// Contact is a shared phone number. UserID is its owner. It proves the sender's own number only if UserID is the
// sender.
type Contact struct {
	PhoneNumber string `json:"phone_number"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name,omitempty"`
	UserID      int64  `json:"user_id,omitempty"`
}

// Origin is where a forwarded message came from. Date is in Unix seconds.
type Origin struct {
	Type       string `json:"type"`
	Date       int64  `json:"date"`
	SenderUser *User  `json:"sender_user,omitempty"`
}

// Message is one message in its present form, in the Bot API's shape. Keyboard and Edits are what a person's app
// knows and the Bot API does not return.
type Message struct {
	ID              int64           `json:"message_id"`
	From            *User           `json:"from,omitempty"`
	Chat            Chat            `json:"chat"`
	Date            int64           `json:"date"` // unix seconds
	EditDate        int64           `json:"edit_date,omitempty"`
	ForwardOrigin   *Origin         `json:"forward_origin,omitempty"`
	ReplyTo         *Message        `json:"reply_to_message,omitempty"`
	Protected       bool            `json:"has_protected_content,omitempty"`
	LinkPreview     json.RawMessage `json:"link_preview_options,omitempty"`
	Text            string          `json:"text,omitempty"`
	Entities        []Entity        `json:"entities,omitempty"`
	Photo           []PhotoSize     `json:"photo,omitempty"`
	Document        *Document       `json:"document,omitempty"`
	Video           *Video          `json:"video,omitempty"`
	MediaGroupID    string          `json:"media_group_id,omitempty"` // the same in all messages of an album
	Location        *Location       `json:"location,omitempty"`
	Dice            *Dice           `json:"dice,omitempty"`
	Poll            *Poll           `json:"poll,omitempty"`
	Pinned          *Message        `json:"pinned_message,omitempty"` // only in service messages
	Caption         string          `json:"caption,omitempty"`
	CaptionEntities []Entity        `json:"caption_entities,omitempty"`
	Contact         *Contact        `json:"contact,omitempty"`
	UsersShared     *UsersShared    `json:"users_shared,omitempty"`
	ReplyMarkup     *InlineKeyboard `json:"reply_markup,omitempty"`

	Keyboard *ReplyKeyboard `json:"-"`
	Edits    int            `json:"-"`
}

// Body is the text of the message, or its caption.
func (m Message) Body() string {
	if m.Text != "" {
		return m.Text
	}
	return m.Caption
}

// FromBot says whether the bot wrote the message.
func (m Message) FromBot() bool { return m.From != nil && m.From.IsBot }

// Buttons lists the inline buttons, row after row.
func (m Message) Buttons() []Button {
	var all []Button
	if m.ReplyMarkup != nil {
		for _, row := range m.ReplyMarkup.Rows {
			all = append(all, row...)
		}
	}
	return all
}

// Button finds the first inline button with exactly this label.
func (m Message) Button(label string) (Button, bool) {
	for _, b := range m.Buttons() {
		if b.Text == label {
			return b, true
		}
	}
	return Button{}, false
}

// Command is one entry of the bot's command menu, without its slash.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Toast is the bot's answer to a tap: a short text, an alert, or a URL to open.
type Toast struct {
	QueryID   string `json:"query_id"`
	User      int64  `json:"user"`
	MessageID int64  `json:"message_id"`
	Text      string `json:"text"`
	Alert     bool   `json:"alert"`
	URL       string `json:"url,omitempty"`
}
