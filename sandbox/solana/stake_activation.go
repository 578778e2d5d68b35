package solana

import (
	"encoding/binary"
	"math"
)

// rateOfChange is the part of the cluster's effective stake that may become effective, or cease to be so, in one
// epoch.
const rateOfChange = 0.09

// activation is how much of a stake, in lamports, counts in an epoch, and how much is on the way. Summed over the
// cluster it is an entry of the stake history. Deactivating lamports are effective too.
type activation struct {
	Effective    uint64
	Activating   uint64
	Deactivating uint64
}

// stakeHistory returns what the whole cluster had in an earlier epoch. It is false for epochs that are not over, or
// that are forgotten.
type stakeHistory func(epoch uint64) (activation, bool)

// maxHistoryEpochs is how many epochs the StakeHistory sysvar keeps; historyEntry is the size of one in bytes.
const (
	maxHistoryEpochs = 512
	historyEntry     = 32
)

// historyIn reads the StakeHistory sysvar as the program does: by position, newest first, from the epoch before the
// present one.
func historyIn(data []byte, present uint64) stakeHistory {
	return func(epoch uint64) (activation, bool) {
		if epoch >= present || present-1-epoch >= maxHistoryEpochs {
			return activation{}, false
		}
		at := 8 + int(present-1-epoch)*historyEntry
		if at+historyEntry > len(data) || binary.LittleEndian.Uint64(data[at:]) != epoch {
			return activation{}, false
		}
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[at+8*i:]) }
		return activation{word(1), word(2), word(3)}, true
	}
}

// at is what the delegation counts for in an epoch. It walks from the epoch of activation and then from the epoch of
// deactivation, and takes its share of the cluster's change in each.
func (d delegation) at(epoch uint64, history stakeHistory) activation {
	effective := d.warmedUp(epoch, history)
	switch {
	case epoch < d.Deactivated:
		return activation{Effective: effective.Effective, Activating: effective.Activating}
	case epoch == d.Deactivated:
		return activation{Effective: effective.Effective, Deactivating: effective.Effective}
	}
	cluster, known := history(d.Deactivated)
	if !known {
		return activation{} // long ago: inactive
	}
	left := effective.Effective
	for next := d.Deactivated + 1; cluster.Deactivating > 0; next++ {
		left -= min(left, max(share(left, cluster.Deactivating, cluster.Effective), 1))
		if left == 0 || next >= epoch {
			break
		}
		if cluster, known = history(next); !known {
			break
		}
	}
	return activation{Effective: left, Deactivating: left}
}

// warmedUp is at without the deactivation.
func (d delegation) warmedUp(epoch uint64, history stakeHistory) activation {
	switch {
	case d.Activated == never:
		return activation{Effective: d.Stake} // since genesis
	case d.Activated == d.Deactivated:
		return activation{} // taken back before it became effective
	case epoch == d.Activated:
		return activation{Activating: d.Stake}
	case epoch < d.Activated:
		return activation{}
	}
	cluster, known := history(d.Activated)
	if !known {
		return activation{Effective: d.Stake} // long ago
	}
	effective := uint64(0)
	for next := d.Activated + 1; cluster.Activating > 0; next++ {
		effective += min(d.Stake-effective, max(share(d.Stake-effective, cluster.Activating, cluster.Effective), 1))
		if effective == d.Stake || next >= epoch || next >= d.Deactivated {
			break
		}
		if cluster, known = history(next); !known {
			break
		}
	}
	return activation{Effective: effective, Activating: d.Stake - effective}
}

// share is what a stake may change by in one epoch: its part of all lamports that wait for a change, of what the
// cluster may change by. All in lamports. The program counts in floating point, and so does this, to the lamport.
func share(own, waiting, effective uint64) uint64 {
	weight := float64(own) / float64(waiting)
	part := weight * (float64(effective) * rateOfChange)
	if part >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(part)
}
