package bolt

import (
	"fmt"

	bbolt "go.etcd.io/bbolt"
)

// migration brings a file from one schema to the next. It may use the store's keys.
type migration func(*Store, *bbolt.Tx) error

// migrations lists the steps from schema 1 on: the first leads from 1 to 2. The newest schema is one more than there
// are steps, so today's is 1 (docs/decisions/0025). A step never changes once it was released. testdata/ holds a file
// of each schema, which every later purser must open.
func migrations() []migration { return nil }

// migrate takes the steps that a file of an older schema misses, all in the one transaction that opens it: a step
// that fails, or is killed, leaves the old file as it was.
func (s *Store) migrate(root *bbolt.Tx, schema uint64, steps []migration) error {
	if schema == 0 {
		return fmt.Errorf("%w: schema 0", ErrDamaged)
	}
	for ; schema <= uint64(len(steps)); schema++ {
		if err := steps[schema-1](s, root); err != nil {
			return fmt.Errorf("upgrade from schema %d: %w", schema, err)
		}
	}
	return root.Bucket([]byte(metaBucket.String())).Put([]byte(metaSchema), numberKey(schema))
}
