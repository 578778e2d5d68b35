package wallet

// Solana clusters, as in chain.cluster and in sign-in texts (docs/architecture.md, Custody and the signing page).
const (
	Mainnet  = "mainnet"
	Devnet   = "devnet"
	Testnet  = "testnet" // known only to recognize a node of it; purser does not support it
	Localnet = "localnet"
)

// Clusters lists the clusters that purser supports.
func Clusters() []string { return []string{Mainnet, Devnet, Localnet} }
