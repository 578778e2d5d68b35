package wallet

// The data of the events of staking.

// StakeDelegatedData is `data` of stake.delegated.
type StakeDelegatedData struct {
	UserID               UserID    `json:"user_id"`
	WalletAddress        Address   `json:"wallet_address"`
	ValidatorAddress     Address   `json:"validator_address"`
	Amount               string    `json:"amount"`
	TransactionSignature Signature `json:"transaction_signature"`
	DelegatedAt          string    `json:"delegated_at"`
}

// StakeRewardData is `data` of stake.reward.
type StakeRewardData struct {
	UserID           UserID  `json:"user_id"`
	WalletAddress    Address `json:"wallet_address"`
	RewardAmount     string  `json:"reward_amount"`
	Epoch            uint64  `json:"epoch"`
	ValidatorAddress Address `json:"validator_address"`
	DistributedAt    string  `json:"distributed_at"`
}

// StakeUndelegatedData is `data` of stake.undelegated.
type StakeUndelegatedData struct {
	UserID               UserID    `json:"user_id"`
	WalletAddress        Address   `json:"wallet_address"`
	ValidatorAddress     Address   `json:"validator_address"`
	Amount               string    `json:"amount"`
	TransactionSignature Signature `json:"transaction_signature"`
	CooldownEnd          string    `json:"cooldown_end"`
	UndelegatedAt        string    `json:"undelegated_at"`
}

// StakesChangedData is `data` of the internal event that notifies a person of their stakes, once for all that one look found.
// Amounts are in lamports.
type StakesChangedData struct {
	WalletAddress Address        `json:"wallet_address"`
	Active        []StakeNews    `json:"active,omitempty"`   // those that earn rewards from now on
	Inactive      []StakeNews    `json:"inactive,omitempty"` // those that can be withdrawn from now on
	Rewards       []EpochRewards `json:"rewards,omitempty"`  // the oldest epoch first
}

// StakeNews is a stake that changed.
type StakeNews struct {
	Lamports      uint64  `json:"lamports"`
	Voter         Address `json:"voter"`
	ValidatorName string  `json:"validator_name,omitempty"` // what the validator calls itself
}

// EpochRewards are what a wallet's stakes earned in one epoch together.
type EpochRewards struct {
	Epoch    uint64 `json:"epoch"`
	Lamports uint64 `json:"lamports"`
}
