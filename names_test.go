package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bannedNames are names that once stood here, by the package (and those below it) where they may not come back, and what
// the field calls the thing. "" is every package. A name is banned as it is declared: of a type, a function, a method,
// a field, a constant or a variable.
func bannedNames() map[string]map[string]string {
	return map[string]map[string]string{
		"": {
			"deed": "operation", "deeds": "operations", "rig": "harness", "newRig": "newHarness", "byhand": "manual", "rooms": "packages",
		},
		"wallet": {
			"Happening": "Trigger", "After": "Apply", "Edge": "Transition", "Sought": "TransactionQuery",
			"NotAccepted": "PreflightError", "Issue": "IssuedBlockhash", "Issues": "IssuedBlockhashes", "Held": "Indeterminate", "Final": "Closed",
			"CalledOff": "LandedAfterCancel", "Asked": "PaymentRequestRef", "Named": "RequestedDestination",
			"Lookalike": "PoisoningSuspect", "UnitLimit": "ComputeUnitLimit", "UnitPrice": "ComputeUnitPrice", "Line": "Lineage", "Told": "NotifiesOwner",
		},
		"store": {
			"Announcement": "OutboxEvent", "Line": "OrderingKey", "DeliveryParked": "DeliveryDeadLettered", "DeliveryWithdrawn": "DeliveryRevoked", "Parked": "DeadLettered",
			"whose": "identity", "worded": "payload", "putWorded": "putPayload", "concerns": "historyKey", "passOver": "skipDamaged",
			"lose": "delete", "mend": "repair", "apart": "separate",
		},
		"handlers": {
			"facts": "accountSnapshot", "look": "fetch", "less": "netOfReservations", "bound": "rateLimit",
			"owned": "authorizeOwner", "readable": "authorizeRead",
		},
		"webhooks": {
			"fate": "attemptResult", "standing": "authorization", "stands": "authorizeFromCache", "barred": "authDenied", "asks": "authNeedsLookup",
			"directory": "subscriptionCache", "registered": "subscription", "wanted": "pending", "landing": "attemptDone", "landed": "attemptEnded",
			"flying": "inFlight", "parked": "deadLettered", "withdrawn": "revoked",
		},
		"api": {
			"door": "middleware", "dress": "setDefaultHeaders", "worn": "defaultHeaders", "asked": "requestState", "lend": "cors", "lent": "allowOrigin",
			"ear": "eventStream", "presented": "bearerToken", "admit": "authenticate", "within": "rateLimit", "remember": "save",
		},
		"chat": {
			"scene": "replyTx", "act": "Action", "heard": "inbound", "topic": "conversation", "weighed": "evaluatedDraft", "walk": "transition",
			"taps": "callbacks", "free": "unhandled", "plainly": "plainText", "say": "reply",
		},
		"bot": {
			"wire": "transport", "parcel": "outgoing", "silence": "transportError", "lines": "chatWorkers", "introduce": "getMe",
		},
		"chain": {
			"signs": "signer", "written": "writable", "named": "readonly", "purse": "holdings", "trouble": "nodeError", "whole": "accountSnapshot",
			"mentions": "signaturesForAddress",
		},
		"sandbox/solana": {"issue": "mintAccount", "holding": "tokenAccount", "option": "coption"},
	}
}

// TestNamesAreTheFieldsOwn keeps names from coming back that only purser used.
func TestNamesAreTheFieldsOwn(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		banned := namesBannedIn(filepath.ToSlash(filepath.Dir(path)))
		for _, name := range declared(file) {
			seen++
			if standard, ok := banned[name.Name]; ok {
				t.Errorf("%s: %s is called %s", files.Position(name.Pos()), name.Name, standard)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 5000 {
		t.Fatalf("%d names were looked at only", seen)
	}
}

// namesBannedIn joins what is banned in a package and above it.
func namesBannedIn(dir string) map[string]string {
	all := map[string]string{}
	for where, names := range bannedNames() {
		if where == "" || dir == where || strings.HasPrefix(dir, where+"/") {
			for name, standard := range names {
				all[name] = standard
			}
		}
	}
	return all
}

// declared are the names that a file gives to what lasts longer than a function: types, functions, methods, fields,
// constants and variables of the package.
func declared(file *ast.File) (names []*ast.Ident) {
	fields := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncType: // parameters are local
				return false
			case *ast.Field:
				names = append(names, n.Names...)
			}
			return true
		})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name)
					fields(spec.Type)
				case *ast.ValueSpec:
					names = slices.Concat(names, spec.Names)
				}
			}
		}
	}
	return names
}
