package solana

// stake parses instructions of the Stake program by their u32 number. Since version 5 each has two layouts, which the
// program tells apart by a sysvar's address; the names say which accounts are there.
//
// Long: one case for each instruction, by its number.
func (p *parsing) stake() bool {
	args := &systemArgs{rest: p.rest}
	kind := args.u32()
	check := *args
	// Agave's parser reads all arguments first, as the program does, and takes no instruction without accounts.
	if args.bad || kind >= uint32(len(stakeInstructions)) || !check.stakeArguments(kind) || len(p.keys) == 0 {
		return false
	}
	switch kind {
	case 0:
		p.info["authorized"] = object{"staker": args.key().String(), "withdrawer": args.key().String()}
		p.info["lockup"] = lockup{int64(args.u64()), args.u64(), args.key()}.shown()
		return p.is("initialize", "stakeAccount") && p.sysvar(1, rentSysvar, "rentSysvar")
	case 1:
		p.info["newAuthority"], p.info["authorityType"] = args.key().String(), args.authority().shown()
		return p.is("authorize", "stakeAccount", "") && p.branch(1, clockSysvar, []string{"clockSysvar"}, []string{"authority"}, "custodian")
	case 2:
		return p.delegateStake()
	case 3:
		p.info["lamports"] = args.u64()
		return p.is("split", "stakeAccount", "newSplitAccount") && p.names(2, nil, "stakeAuthority")
	case 4:
		p.info["lamports"] = args.u64()
		return p.is("withdraw", "stakeAccount", "destination", "") &&
			p.branch(2, clockSysvar, []string{"clockSysvar", "stakeHistorySysvar"}, []string{"withdrawAuthority"}, "custodian")
	case 5:
		if !p.is("deactivate", "stakeAccount", "") {
			return false
		}
		if p.keys[1] != clockSysvar.String() {
			return p.names(1, []string{"stakeAuthority"})
		}
		return p.names(1, []string{"clockSysvar"}, "stakeAuthority")
	case 6, 12:
		p.info["lockup"] = args.lockup(kind == 6).shown()
		if kind == 6 {
			return p.is("setLockup", "stakeAccount", "custodian")
		}
		if len(p.keys) > 2 {
			p.info["lockup"].(object)["custodian"] = p.keys[2]
		}
		return p.is("setLockupChecked", "stakeAccount", "custodian")
	case 7:
		return p.mergeStake()
	case 8:
		p.info["newAuthorized"], p.info["authorityType"] = args.key().String(), args.authority().shown()
		p.info["authoritySeed"], p.info["authorityOwner"] = args.text(), args.key().String()
		return p.is("authorizeWithSeed", "stakeAccount", "authorityBase") &&
			(len(p.keys) == 2 || p.branch(2, clockSysvar, []string{"clockSysvar"}, nil, "custodian"))
	case 9:
		return p.is("initializeChecked", "stakeAccount", "", "") && p.branch(1, rentSysvar, []string{"rentSysvar"}, []string{"staker", "withdrawer"})
	case 10:
		p.info["authorityType"] = args.authority().shown()
		return p.is("authorizeChecked", "stakeAccount", "", "") &&
			p.branch(1, clockSysvar, []string{"clockSysvar"}, []string{"authority", "newAuthority"}, "custodian")
	case 11:
		p.info["authorityType"] = args.authority().shown()
		p.info["authoritySeed"], p.info["authorityOwner"] = args.text(), args.key().String()
		return p.is("authorizeCheckedWithSeed", "stakeAccount", "authorityBase", "") &&
			p.branch(2, clockSysvar, []string{"clockSysvar"}, []string{"newAuthorized"}, "custodian")
	case 13:
		p.info = nil
		return p.is("getMinimumDelegation")
	case 14:
		return p.is("deactivateDelinquent", "stakeAccount", "voteAccount", "referenceVoteAccount")
	case 15:
		return p.is("redelegate", "stakeAccount", "newStakeAccount", "voteAccount", "stakeConfigAccount", "stakeAuthority")
	}
	p.info["lamports"] = args.u64()
	name := "moveStake"
	if kind == 17 {
		name = "moveLamports"
	}
	return p.is(name, "source", "destination", "stakeAuthority")
}

// names names the accounts from a place on: those that must be there, and then those that may.
func (p *parsing) names(from int, must []string, may ...string) bool {
	if len(p.keys) < from+len(must) {
		return false
	}
	for i, name := range append(append([]string{}, must...), may...) {
		if from+i < len(p.keys) {
			p.info[name] = p.keys[from+i]
		}
	}
	return true
}

// branch names the accounts of either layout: the old one, which has the sysvar at this place, begins with old.
func (p *parsing) branch(at int, sysvar address, old, must []string, may ...string) bool {
	if p.keys[at] == sysvar.String() {
		must = append(append([]string{}, old...), must...)
	}
	return p.names(at, must, may...)
}

// sysvar names an account only if it is that sysvar.
func (p *parsing) sysvar(at int, key address, name string) bool {
	if at < len(p.keys) && p.keys[at] == key.String() {
		p.info[name] = p.keys[at]
	}
	return true
}

// stakeConfig is the former configuration of the program, which old clients still pass.
var stakeConfig = known("StakeConfig11111111111111111111111111111111")

// delegateStake also takes the authority in place of the configuration, which the program does not read.
func (p *parsing) delegateStake() bool {
	if !p.is("delegate", "stakeAccount", "voteAccount", "") {
		return false
	}
	if p.keys[2] != clockSysvar.String() {
		return p.names(2, []string{"stakeAuthority"})
	}
	if len(p.keys) > 4 && p.keys[4] != stakeConfig.String() {
		return p.names(2, []string{"clockSysvar", "stakeHistorySysvar", "stakeAuthority"})
	}
	return p.names(2, []string{"clockSysvar", "stakeHistorySysvar", "stakeConfigAccount"}, "stakeAuthority")
}

func (p *parsing) mergeStake() bool {
	if !p.is("merge", "destination", "source", "") {
		return false
	}
	if p.keys[2] != clockSysvar.String() {
		return p.names(2, []string{"stakeAuthority"})
	}
	return p.names(2, []string{"clockSysvar", "stakeHistorySysvar"}, "stakeAuthority")
}

// shown is the authority's name in Agave.
func (a authority) shown() string {
	if a == withdrawer {
		return "Withdrawer"
	}
	return "Staker"
}

// shown leaves out what is not changed.
func (l lockupChange) shown() object {
	o := object{}
	if l.unix != nil {
		o["unixTimestamp"] = int64(*l.unix)
	}
	if l.epoch != nil {
		o["epoch"] = *l.epoch
	}
	if l.custodian != nil {
		o["custodian"] = l.custodian.String()
	}
	return o
}
