package chat_test

// happensToStakes plays a line that is about stakes. false: it is not.
func (r *harness) happensToStakes(who, line string) bool {
	r.Helper()
	switch line {
	case "an epoch passes": // and its rewards are paid, and final
		_, err := r.Cluster.NextEpoch()
		r.Must(err)
		r.Blocks(40)
	case who + "'s stakes get a tip":
		p, err := r.Stakes.Positions(r.Context(), r.people[who].Address())
		r.Must(err)
		for _, one := range p.All {
			r.Fund(one.Address, 5_000_000)
		}
	default:
		return false
	}
	return true
}
