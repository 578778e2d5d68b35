package records

import (
	"fmt"

	"purser/store"
	"purser/store/engine"
)

// step brings a store from one schema to the next, within the transaction that opens it. The store's keys are open.
type step func(*Store, engine.Setup) error

// steps lists the upgrades from schema 1 on: the first one leads from 1 to 2. The newest schema is one more than there
// are steps, so today's is 2 (docs/decisions/0025). A released step never changes. testdata/ holds a store of each
// schema, and every later purser must open it.
func steps() []step { return []step{addFinals} }

// addFinals makes the tables of final transactions (docs/decisions/0058). Rows that were final before stay where they are, so that a
// large store is not rewritten while it opens.
func addFinals(_ *Store, setup engine.Setup) error {
	for _, b := range []table{finals, finalIDs, finalHashes, finalsOf, finalsAt} {
		if err := setup.CreateTable(engine.Table(b)); err != nil {
			return err
		}
	}
	return nil
}

// migrate runs the steps that a store lacks, all in the one transaction that opens it. After an error or a crash the
// store has its old schema and its old rows. The number of the new schema is written last.
func (s *Store) migrate(setup engine.Setup, schema uint64, all []step) error {
	if schema == 0 {
		return fmt.Errorf("%w: schema 0", store.ErrDamaged)
	}
	for ; schema <= uint64(len(all)); schema++ {
		if err := all[schema-1](s, setup); err != nil {
			return fmt.Errorf("upgrade from schema %d: %w", schema, err)
		}
	}
	return setup.Put(engine.Table(meta), []byte(metaSchema), numberKey(schema))
}
