package store

import (
	"fmt"
	"time"

	"purser/wallet"
)

// SecurityLogs are people's security logs: a chain of entries for each person (wallet.SecurityEntry), and what is
// remembered so that only firsts are logged (wallet.Seen). All of it is sealed by the person's data key and erased with
// them.
type SecurityLogs interface {
	// AppendSecurityEntry appends an entry to its owner's log. It sets Number and Before, and returns the entry as stored. Of
	// more than wallet.MaxSecurityEntries it removes the oldest one. A damaged log takes new entries too, since the fact
	// must not fail with it: the damage stays visible (wallet.CheckSecurityLog). ErrNotFound: the owner was erased.
	AppendSecurityEntry(wallet.SecurityEntry) (wallet.SecurityEntry, error)
	// SecurityEntry reads one entry. ErrNotFound; ErrDamaged.
	SecurityEntry(owner wallet.UserID, number uint64) (wallet.SecurityEntry, error)
	// SecurityEntries lists the newest entries below a number, newest first, at most limit; 0 begins at the newest. A row
	// that cannot be read has no Entry.
	SecurityEntries(owner wallet.UserID, before uint64, limit int) ([]wallet.SecurityRow, error)
	// SecurityHead reads where a log ends. For a person without a log, and for one who was erased, it is zero. ErrDamaged, also if there are entries and
	// no head.
	SecurityHead(owner wallet.UserID) (wallet.SecurityHead, error)
	// Seen reads what is remembered of a subject. A subject that was never seen, and one whose row is damaged, is zero.
	Seen(owner wallet.UserID, subject string) (wallet.Seen, error)
	// PutSeen replaces it. ErrNotFound: the owner was erased.
	PutSeen(owner wallet.UserID, subject string, seen wallet.Seen) error
}

// LogSecurity appends an entry to a person's security log, in the transaction of the fact that it reports. For nobody ("",
// the owner of an operator's key) it does nothing. Of one kind it appends at most wallet.SecurityDaily.PerDay entries a day,
// so that nobody can push the others out of the log. The last one says so. ErrNotFound: the person was erased.
func LogSecurity(tx Tx, person wallet.UserID, at time.Time, kind wallet.SecurityKind, details wallet.SecurityDetails) error {
	_, err := logSecurity(tx, person, at, kind, details)
	return err
}

// LogSecurityAndNotify is LogSecurity, and notifies the person of the entry at once, by the event SecurityNoticed. What LogSecurity leaves out
// notifies nobody.
func LogSecurityAndNotify(tx Tx, person wallet.UserID, at time.Time, kind wallet.SecurityKind, details wallet.SecurityDetails) error {
	number, err := logSecurity(tx, person, at, kind, details)
	if err != nil || number == 0 {
		return err
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_security_%s_%d", person, number), wallet.SecurityNoticed, at.UTC(), person, wallet.SecurityNoticedData{Number: number})
	if err != nil {
		return err
	}
	return NotifyOwner(tx, event)
}

// SecurityFull reports whether LogSecurity appends no more entries of a kind to a person's log on the day of at.
func SecurityFull(tx Tx, person wallet.UserID, at time.Time, kind wallet.SecurityKind) (bool, error) {
	seen, err := tx.Seen(person, dailySubject(kind))
	return seen.FullOn(at, wallet.SecurityDaily), err
}

// dailySubject is the subject under which entries of a kind are counted.
func dailySubject(kind wallet.SecurityKind) string { return "daily " + string(kind) }

// logSecurity is LogSecurity. It returns the number of the entry, 0 for none.
func logSecurity(tx Tx, person wallet.UserID, at time.Time, kind wallet.SecurityKind, details wallet.SecurityDetails) (uint64, error) {
	if person == "" {
		return 0, nil
	}
	daily := dailySubject(kind)
	seen, err := tx.Seen(person, daily)
	if err != nil {
		return 0, err
	}
	seen, ok, last := seen.Count(at, wallet.SecurityDaily)
	if !ok {
		return 0, nil
	}
	if err := tx.PutSeen(person, daily, seen); err != nil {
		return 0, err
	}
	details.Last = details.Last || last
	entry, err := tx.AppendSecurityEntry(wallet.SecurityEntry{Owner: person, At: at.UTC(), Kind: kind, Details: details})
	return entry.Number, err
}

// NoteSeen notes a mark of a person's subject. first is false if it was seen before, or rule allows no more on this day; then
// nothing is written. last says that it is the last one of this day.
func NoteSeen(tx Tx, person wallet.UserID, subject, mark string, at time.Time, rule wallet.SeenRule) (first, last bool, err error) {
	seen, err := tx.Seen(person, subject)
	if err != nil {
		return false, false, err
	}
	next, first, last := seen.Note(mark, at, rule)
	if !first {
		return false, false, nil
	}
	return first, last, tx.PutSeen(person, subject, next)
}

// SecurityLog reads a person's whole log and checks it. The rows are in the order of their places, and at most
// wallet.MaxSecurityEntries.
func SecurityLog(tx Tx, person wallet.UserID) (rows []wallet.SecurityRow, head wallet.SecurityHead, faults []wallet.SecurityFault, err error) {
	newest, err := tx.SecurityEntries(person, 0, wallet.MaxSecurityEntries+1)
	if err != nil {
		return nil, head, nil, err
	}
	for i := len(newest) - 1; i >= 0; i-- {
		rows = append(rows, newest[i])
	}
	head, err = tx.SecurityHead(person)
	switch {
	case IsDamaged(err):
		return rows, head, wallet.CheckSecurityLog(person, nil, rows), nil
	case err != nil:
		return nil, head, nil, err
	}
	return rows, head, wallet.CheckSecurityLog(person, &head, rows), nil
}
