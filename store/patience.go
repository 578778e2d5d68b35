package store

import (
	"context"
	"time"
)

// Patience is how long the commit of a patient Update may wait for others.
const Patience = 25 * time.Millisecond

type patienceKey struct{}

// Patient returns a context for Updates that nobody waits for: their commit may wait up to Patience for other Updates, to share
// theirs. A commit costs what it syncs to the disk, whether one Update is in it or many, so such an Update costs next to nothing
// where others are made. Nothing else changes: when Update returns nil, what it wrote is durable. An engine may ignore it.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// IsPatient reports whether a context comes from Patient.
func IsPatient(ctx context.Context) bool {
	patient, _ := ctx.Value(patienceKey{}).(bool)
	return patient
}
