package storetest

import (
	"purser/wallet"
)

func webhook(id, line string, owner wallet.UserID) wallet.Webhook {
	return wallet.Webhook{ID: wallet.WebhookID(id), Kind: wallet.APIKey, Line: line, Owner: owner, URL: "https://example.com/" + id,
		Events: []string{"transaction.*"}, Active: true, Secret: "whsec_" + id, CreatedAt: noon(), UpdatedAt: noon()}
}
