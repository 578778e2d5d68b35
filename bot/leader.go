package bot

import (
	"time"

	"purser/work"
)

// term is for how long a silent leader stays the leader.
const term = 30 * time.Second

// leader lets one node poll Telegram and send to it: Telegram gives updates to one caller at a time, and its limits hold
// for the bot, however many nodes it runs on. All nodes handle updates, and may take webhook calls.
func (b *Bot) leader() *work.Leader {
	return &work.Leader{Store: b.opt.Store, Name: "telegram", Node: b.opt.Node, Lease: term, Now: b.now, Log: b.log}
}
