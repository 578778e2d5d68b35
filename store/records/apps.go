package records

import (
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// appPayload is the sealed part of an app: what its developer wrote. Their data key seals it, so erasing the
// developer makes it unreadable.
type appPayload struct {
	Name    string `json:"name"`
	Purpose string `json:"purpose"`
}

// App returns an app with its name and purpose. ErrNotFound: there is no such app, or its developer was erased.
func (t *tx) App(id wallet.AppID) (wallet.App, error) {
	a, payload, err := readWithPayload[wallet.App, appPayload](t, apps, []byte(id))
	a.Name, a.Purpose = payload.Name, payload.Purpose
	return a, err
}

// AppsOf fails on a damaged app: a developer should notice that one is missing.
func (t *tx) AppsOf(owner wallet.UserID) ([]wallet.App, error) {
	var out []wallet.App
	prefix := userPrefix(owner)
	for _, e := range t.prefixed(appsOf, prefix) {
		a, err := t.App(wallet.AppID(e.key[len(prefix):]))
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	oldestFirst(out, func(a wallet.App) (time.Time, string) { return a.CreatedAt, string(a.ID) })
	return out, nil
}

// AllApps passes over damaged apps, and over those of erased developers.
func (t *tx) AllApps() ([]wallet.App, error) {
	var out []wallet.App
	for _, e := range t.prefixed(apps, nil) {
		a, err := t.App(wallet.AppID(e.key))
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case store.IsDamaged(err): // its name cannot be shown to anyone
			t.skipDamaged(apps, e.key, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// PutApp writes the row, and the entry by which its owner's apps are listed. An app keeps its owner: another one is
// ErrConflict, found before anything is written.
func (t *tx) PutApp(a wallet.App) error {
	if err := checkID(string(a.ID)); err != nil {
		return err
	}
	if t.isErased(a.Owner) {
		return store.ErrNotFound
	}
	key := []byte(a.ID)
	if raw := t.get(apps, key); raw != nil {
		old, _, err := plainOf[wallet.App](t, apps, key, raw)
		if err != nil {
			return err
		}
		if old.Owner != a.Owner {
			return store.ErrConflict
		}
	}
	// What goes into the sealed part leaves the plain one.
	payload := appPayload{a.Name, a.Purpose}
	a.Name, a.Purpose = "", ""
	if err := t.put(appsOf, join(userPrefix(a.Owner), key), nil); err != nil {
		return err
	}
	t.touchedAccess = true
	return t.putWithPayload(apps, key, a.Owner, a, payload)
}

// grantKey is the key of a grant's row: a person's grants lie together.
func grantKey(user wallet.UserID, app wallet.AppID) []byte {
	return join(userPrefix(user), []byte(app))
}

// grantToKey is the entry by which an app finds the people who granted it access. Erasing a developer follows these
// entries to end the grants of their apps.
func grantToKey(app wallet.AppID, user wallet.UserID) []byte {
	return join([]byte(app), []byte{0}, []byte(user))
}

// Grant reads one grant. Its row has no sealed field: it names two ids and scopes. ErrNotFound: the person has not
// granted the app access, or has revoked it.
func (t *tx) Grant(user wallet.UserID, app wallet.AppID) (wallet.Grant, error) {
	key := grantKey(user, app)
	raw := t.get(grants, key)
	if raw == nil {
		return wallet.Grant{}, store.ErrNotFound
	}
	g, _, err := plainOf[wallet.Grant](t, grants, key, raw)
	return g, err
}

// GrantsOf fails on a damaged grant: a list without it would hide access that an app still has.
func (t *tx) GrantsOf(user wallet.UserID) ([]wallet.Grant, error) {
	var out []wallet.Grant
	for _, e := range t.prefixed(grants, userPrefix(user)) {
		g, _, err := plainOf[wallet.Grant](t, grants, e.key, e.value)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	oldestFirst(out, func(g wallet.Grant) (time.Time, string) { return g.GrantedAt, string(g.App) })
	return out, nil
}

// PutGrant writes the row and the entry of its app.
func (t *tx) PutGrant(g wallet.Grant) error {
	if err := errors.Join(checkID(string(g.User)), checkID(string(g.App))); err != nil {
		return err
	}
	key := grantKey(g.User, g.App)
	raw, err := t.seal(grants, key, g.User, g)
	if err != nil {
		return err
	}
	t.touchedAccess = true
	return errors.Join(t.putRow(grants, key, raw), t.put(grantsTo, grantToKey(g.App, g.User), nil))
}

// DeleteGrant removes the row and the entry of its app.
func (t *tx) DeleteGrant(user wallet.UserID, app wallet.AppID) error {
	key := grantKey(user, app)
	if t.get(grants, key) == nil {
		return store.ErrNotFound
	}
	t.touchedAccess = true
	return errors.Join(t.delete(grants, key), t.delete(grantsTo, grantToKey(app, user)))
}

// developerPayload is the sealed part of a developer: the mail address, a code on its way there, and their requests and
// approvals, which contain their own words.
type developerPayload struct {
	Email     string                `json:"email"`
	Approvals []wallet.Approval     `json:"approvals,omitempty"`
	Request   *wallet.AccessRequest `json:"request,omitempty"`
	MailCode  *wallet.MailCode      `json:"mail_code,omitempty"`
}

// Developer returns the zero value with User set for a person who is not a developer. That is no error.
func (t *tx) Developer(user wallet.UserID) (wallet.Developer, error) {
	if t.get(developers, []byte(user)) == nil {
		return wallet.Developer{User: user}, nil
	}
	d, payload, err := readWithPayload[wallet.Developer, developerPayload](t, developers, []byte(user))
	d.Email, d.Approvals, d.Request, d.MailCode = payload.Email, payload.Approvals, payload.Request, payload.MailCode
	return d, err
}

// PutDeveloper seals mail address, requests and approvals with the developer's own data key. ErrNotFound: the person
// was erased.
func (t *tx) PutDeveloper(d wallet.Developer) error {
	if err := checkID(string(d.User)); err != nil {
		return err
	}
	payload := developerPayload{d.Email, d.Approvals, d.Request, d.MailCode}
	d.Email, d.Approvals, d.Request, d.MailCode = "", nil, nil, nil
	return t.putWithPayload(developers, []byte(d.User), d.User, d, payload)
}
