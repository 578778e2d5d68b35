package wallet

// Clusters of Solana, as chain.cluster names them and sign-in texts say them (docs/architecture.md, Custody and the
// signing page).
const (
	Mainnet  = "mainnet"
	Devnet   = "devnet"
	Testnet  = "testnet" // known, so that a node of it is told apart; purser does not serve it
	Localnet = "localnet"
)

// Clusters lists those that purser serves.
func Clusters() []string { return []string{Mainnet, Devnet, Localnet} }
