package store

import (
	"context"
	"time"
)

// DeferFor is how long the commit of a deferrable Update may wait for others.
const DeferFor = 25 * time.Millisecond

type deferrableKey struct{}

// Deferrable returns a context for Updates that nobody waits for: their commit may wait up to DeferFor for other Updates, to share
// theirs. A commit costs what it syncs to the disk, whether one Update is in it or many, so such an Update costs next to nothing
// where others are made. Nothing else changes: when Update returns nil, what it wrote is durable. An engine may ignore it.
func Deferrable(ctx context.Context) context.Context {
	return context.WithValue(ctx, deferrableKey{}, true)
}

// IsDeferrable reports whether a context comes from Deferrable.
func IsDeferrable(ctx context.Context) bool {
	deferrable, _ := ctx.Value(deferrableKey{}).(bool)
	return deferrable
}
