package telegram

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"
)

// commandShape is the form of a bot command, without its slash.
var commandShape = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// scopeOf reads scope and language_code, and returns the key under which commands are stored:
// type|chat|user|language.
func scopeOf(q *request) (string, error) {
	scope := struct {
		Type   string          `json:"type"`
		ChatID json.RawMessage `json:"chat_id"`
		UserID json.RawMessage `json:"user_id"`
	}{Type: "default"}
	// Without a scope the commands are for everybody.
	if raw := q.text("scope"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &scope); err != nil {
			return "", badRequest("can't parse BotCommandScope JSON object")
		}
	}
	switch scope.Type {
	case "default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat", "chat_administrators", "chat_member":
	default:
		return "", badRequest("can't parse BotCommandScope: unsupported type specified")
	}
	language := q.text("language_code")
	if language != "" && len(language) != 2 {
		return "", badRequest("invalid language code specified")
	}
	return strings.Join([]string{scope.Type, strings.Trim(string(scope.ChatID), `"`), strings.Trim(string(scope.UserID), `"`), language}, "|"), nil
}

// setMyCommands stores the command menu of one scope. An empty list deletes it.
func (s *Server) setMyCommands(q *request) (result, error) {
	key, err := scopeOf(q)
	if err != nil {
		return result{}, err
	}
	var list []Command
	if err := json.Unmarshal([]byte(orElse(q.text("commands"), "[]")), &list); err != nil {
		return result{}, badRequest("can't parse commands: an Array of BotCommand is expected")
	}
	if len(list) > 100 {
		return result{}, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	// A leading slash is allowed and dropped, as in Telegram.
	for i := range list {
		list[i].Command = strings.TrimPrefix(strings.TrimSpace(list[i].Command), "/")
		list[i].Description = strings.TrimSpace(list[i].Description)
		if !commandShape.MatchString(list[i].Command) {
			return result{}, badRequest("BOT_COMMAND_INVALID")
		}
		if n := utf8.RuneCountInString(list[i].Description); n < 1 || n > 256 {
			return result{}, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	return s.changeProfile(func(p *profile) {
		p.Commands = with(p.Commands, key, list)
		if len(list) == 0 {
			delete(p.Commands, key)
		}
	})
}

// deleteMyCommands deletes the command menu of one scope, so that the next wider scope applies.
func (s *Server) deleteMyCommands(q *request) (result, error) {
	key, err := scopeOf(q)
	if err != nil {
		return result{}, err
	}
	return s.changeProfile(func(p *profile) {
		p.Commands = maps.Clone(p.Commands)
		delete(p.Commands, key)
	})
}

// getMyCommands returns the menu of exactly this scope, not the one that applies.
func (s *Server) getMyCommands(q *request) (result, error) {
	key, err := scopeOf(q)
	if err != nil {
		return result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return result{value: append([]Command{}, s.st.Profile.Commands[key]...)}, nil
}

// commandsFor is the menu that a person sees in the private chat. The narrowest scope wins, and in it the person's
// own language. Callers hold s.mu.
func (st *state) commandsFor(p *person) []Command {
	id := jsonText(p.User.ID)
	// The scope of one chat comes before the one of all private chats.
	for _, scope := range []string{"chat|" + id + "|", "all_private_chats||", "default||"} {
		for _, language := range []string{p.User.LanguageCode, ""} {
			if list := st.Profile.Commands[scope+"|"+language]; len(list) > 0 {
				return list
			}
		}
	}
	return nil
}

// changeProfile lets changed modify a copy of the bot's profile, and commits it. changed must not modify maps in
// place; see with.
func (s *Server) changeProfile(changed func(*profile)) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.st.Profile
	changed(&next)
	if err := s.commit(change{Profile: &next}); err != nil {
		return result{}, err
	}
	s.feed.add(event{Kind: "profile"})
	s.wake()
	return result{value: true}, nil
}

// with returns m with one more entry. It copies m, because the present state still uses it.
func with[V any](m map[string]V, key string, v V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// setMyName sets the bot's name in one language; "" is the default for all others.
func (s *Server) setMyName(q *request) (result, error) {
	if utf8.RuneCountInString(q.text("name")) > 64 {
		return result{}, badRequest("BOT_TITLE_INVALID")
	}
	return s.changeProfile(func(p *profile) { p.Name = with(p.Name, q.text("language_code"), q.text("name")) })
}

// setMyDescription sets what an empty chat shows.
func (s *Server) setMyDescription(q *request) (result, error) {
	if utf8.RuneCountInString(q.text("description")) > 512 {
		return result{}, badRequest("BOT_DESCRIPTION_INVALID")
	}
	return s.changeProfile(func(p *profile) {
		p.Description = with(p.Description, q.text("language_code"), q.text("description"))
	})
}

// setMyShortDescription sets what the bot's profile page shows.
func (s *Server) setMyShortDescription(q *request) (result, error) {
	if utf8.RuneCountInString(q.text("short_description")) > 120 {
		return result{}, badRequest("BOT_ABOUT_INVALID")
	}
	return s.changeProfile(func(p *profile) {
		p.Short = with(p.Short, q.text("language_code"), q.text("short_description"))
	})
}

// getMyName, getMyDescription and getMyShortDescription fall back to the default language.
func (s *Server) getMyName(q *request) (result, error) {
	return s.profileText(q, "name", func(p profile) map[string]string { return p.Name }, s.bot.FirstName)
}

func (s *Server) getMyDescription(q *request) (result, error) {
	return s.profileText(q, "description", func(p profile) map[string]string { return p.Description }, "")
}

func (s *Server) getMyShortDescription(q *request) (result, error) {
	return s.profileText(q, "short_description", func(p profile) map[string]string { return p.Short }, "")
}

// profileText returns a text in the language of the call, else the default language, else otherwise.
func (s *Server) profileText(q *request, field string, of func(profile) map[string]string, otherwise string) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := of(s.st.Profile)
	return result{value: map[string]string{field: orElse(orElse(texts[q.text("language_code")], texts[""]), otherwise)}}, nil
}

// setChatMenuButton accepts only the kinds without a Mini App.
func (s *Server) setChatMenuButton(q *request) (result, error) {
	raw := orElse(q.text("menu_button"), `{"type":"default"}`)
	var b struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(raw), &b); err != nil || b.Type != "commands" && b.Type != "default" {
		return result{}, badRequest("can't parse menu button: unsupported type specified")
	}
	return s.changeProfile(func(p *profile) {
		p.Menu = with(p.Menu, q.text("chat_id"), json.RawMessage(`{"type":"`+b.Type+`"}`))
	})
}

func (s *Server) getChatMenuButton(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The button of one chat comes before the default for all chats.
	for _, key := range []string{q.text("chat_id"), ""} {
		if raw := s.st.Profile.Menu[key]; raw != nil {
			return result{value: raw}, nil
		}
	}
	return result{value: map[string]string{"type": "commands"}}, nil
}

// getChat knows the chats of people who have started the bot, and groups.
func (s *Server) getChat(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.chatOf(q)
	if err != nil {
		return result{}, err
	}
	if p := s.st.People[r.Chat.ID]; p != nil && !p.Started {
		return result{}, badRequest("chat not found")
	}
	return result{value: struct {
		Chat
		AccentColor  int `json:"accent_color_id"`
		MaxReactions int `json:"max_reaction_count"`
	}{Chat: r.Chat, MaxReactions: 11}}, nil
}

// getChatMember tells whether somebody is in a chat.
func (s *Server) getChatMember(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.chatOf(q)
	if err != nil {
		return result{}, err
	}
	user := q.number("user_id", 0)
	answer := struct {
		User   User   `json:"user"`
		Status string `json:"status"`
	}{Status: "left"}
	switch p := s.st.People[user]; {
	case user == s.bot.ID:
		answer.User, answer.Status = s.bot, "member"
	case p == nil:
		return result{}, badRequest("user not found")
	default:
		answer.User = p.User
		for _, id := range r.Members {
			if id == user {
				answer.Status = "member"
			}
		}
	}
	return result{value: answer}, nil
}

// jsonText is the JSON of a value that cannot fail to encode.
func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
