package move

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// onKind are the cases that make e2e-kind runs again where kubelets and data are real.
var onKind = []string{
	"TestMove", "TestPartOfTheOrdinals", "TestMoveOfKinds", "TestRolloutDuringMove", "TestAdoptCommand",
	"TestRollback", "TestRollbackOfKinds", "TestMigrateRollBackMigrateAgain", "TestPause",
	"TestSourcePodStaysTerminating", "TestPodNeverCreated", "TestPodNeverReady", "TestAttachmentHoldsTheVolume",
	"TestForeignWriter", "TestNothingIsWrittenWhenSettled", "TestStorageClass",
	"TestExports", "TestExportConflict", "TestOrdinalNames", "TestOrdinalNamesBack",
	"TestManagerMoves", "TestManagerKilled", "TestTwoManagers", "TestTwoMigrations", "TestRunBesideManager", "TestRunInterrupted",
	"TestDeletedInMidMove", "TestDeletedAfterTheEnd", "TestAccountCorrected", "TestKubeconfigReplaced", "TestCleanup", "TestOwnedClaimSurvives",
}

// embeddedOnly are the others, with the reason.
var embeddedOnly = map[string]string{
	"TestAPIServerAway":                partsStop,
	"TestFrozenSource":                 partsStop,
	"TestBinderBehind":                 partsStop,
	"TestChaos":                        partsStop,
	"TestSwing":                        partsStop,
	"TestCrashMatrix":                  "hundreds of processes, each killed at a write: the kubelets have no part in it",
	"TestRefused":                      refused,
	"TestUnknownFields":                refused,
	"TestRunRefused":                   refused,
	"TestReach":                        refused,
	"TestProxy":                        "it moves nothing",
	"TestDependencies":                 copied,
	"TestDependencyDiffers":            copied,
	"TestDependencyChanges":            copied,
	"TestCopiesAreFoughtFor":           copied,
	"TestCopiesGo":                     copied,
	"TestRightsOfCopies":               copied,
	"TestManagerCopies":                copied,
	"TestCopiesAreRead":                copied,
	"TestStrangersAreNotSelected":      copied,
	"TestSecretChanges":                copied,
	"TestClaimTemplatesComeAlong":      "the devices exist in name only: no kubelet could prepare them",
	"TestSharedClaim":                  inName,
	"TestSharedClaimOfOneMachine":      inName,
	"TestSharedVolumeOfSomebody":       inName,
	"TestSharedClaimOfTwoMigrations":   inName,
	"TestCopyOfOthers":                 copied,
	"TestSharedClaimGoesBack":          inName,
	"TestLive":                         "what a terminal shows: the kubelets have no part in it",
	"TestReads":                        "it counts requests: the kubelets have no part in it",
	"TestAdoptKruise":                  "the controller of OpenKruise is not there to make the pods: they are handed to its object by the test",
	"TestRolloutCommand":               "it plays a kubelet whose pod never becomes Ready, to be taken back in the middle",
	"TestBenchIsMadeAnew":              partsStop,
	"TestRights":                       ownServers,
	"TestOlderDestination":             ownServers,
	"TestInstall":                      ownServers,
	"TestChart":                        ownServers,
	"TestGatesAskPods":                 ownServers,
	"TestFence":                        ownServers,
	"TestMetrics":                      "what the manager says of itself",
	"TestObserved":                     "what the manager says of itself",
	"TestSecretsOfTheManager":          "what the manager says of itself",
	"TestSecretsOfTheCommand":          "what the command says of itself",
	"TestGiverLosesItsSet":             byOthers,
	"TestDisksOfTheMoved":              byOthers,
	"TestClaimLostOnTheWayBack":        byOthers,
	"TestLastRecordOfADisk":            byOthers,
	"TestDestinationComesBack":         byOthers,
	"TestRecover":                      ownServers,
	"TestRollbackOfWhatIsDown":         byOthers,
	"TestRetainOfTheOwner":             nextLife,
	"TestDeletedWhenSecured":           nextLife,
	"TestBudgetReverted":               byOthers,
	"TestBackupHoldsTheClaim":          byOthers,
	"TestReservedInMidMove":            byOthers,
	"TestNamespaceDeleted":             byOthers,
	"TestNamespaceDeletedWithOrdinals": byOthers,
	"TestFenceByHand":                  byOthers,
	"TestTakerLosesItsSet":             byOthers,
	"TestSplitOfOneCluster":            nextLife,
	"TestPauseWriters":                 byOthers,
	"TestWriterIsHeld":                 byOthers,
	"TestRightsOverWriters":            refused,
	"TestWriterWritesAgain":            byOthers,
	"TestWriterStillScales":            byOthers,
	"TestWindows":                      byClock,
	"TestWindowOpens":                  byClock,
	"TestWindowCloses":                 byClock,
	"TestRollbackInNoWindow":           byClock,
	"TestWindowsAreKept":               refused,
	"TestCredentialsAreKept":           refused,
	"TestGates":                        asksAPI,
	"TestGateJobs":                     endsJobs,
	"TestHooks":                        endsJobs,
	"TestHookHangs":                    endsJobs,
	"TestHookRefused":                  endsJobs,
	"TestHookBehindAFailingWebhook":    endsJobs,
	"TestHookAfterACrash":              endsJobs,
	"TestHookWhoseJobIsRemoved":        endsJobs,
	"TestHookWhoseJobGoesUnseen":       endsJobs,
	"TestHookTurnsBack":                endsJobs,
	"TestHooksOfARun":                  endsJobs,
	"TestManagedHooks":                 endsJobs,
	"TestGateInDryRun":                 asksAPI,
	"TestGatesCommand":                 asksAPI,
	"TestGateTurnsBack":                asksAPI,
	"TestGateOfMetrics":                asksAPI,
	"TestGateMendedInMidMove":          asksAPI,
	"TestNobodyIsDownForAnAnswer":      endsJobs,
	"TestRollbackWithAGate":            asksAPI,
	"TestManagerRecovers":              ownServers,
	"TestSplitLivesOn":                 nextLife,
	"TestSplitBudgetHandedOver":        nextLife,
	"TestDeletedThenTaken":             nextLife,
	"TestCSIVolumes":                   inName,
	"TestLine":                         ownServers,
	"TestSuccessor":                    ownServers,
	"TestWaves":                        ownServers,
	"TestHandoffsAtOnce":               "what the manager lets be under way: kubelets have no part in it",
	"TestHostile":                      ownServers,
	"TestHostileSilence":               ownServers,
	"TestHostileMemory":                ownServers,
	"TestVolumesThatAreNotMade":        refused,
	"TestVolumesThatAreMade":           inName,
	"TestTwinInMidMove":                inName,
	"TestAuthors":                      refused,
	"TestMovers":                       refused,
	"TestGuardedMoves":                 ownServers,
	"TestMetricsCertificate":           "what the manager says of itself",
	"TestNarrowedManager":              "it is about rights, which API servers alone judge",
	"TestLocalAddresses":               refused,
	"TestChecks":                       refused,
	"TestThousand":                     ownServers,
	"TestEmpty":                        "nobody fills a replica from its peers: kubelets have no part in which volume it is",
	"TestEmptyWaitsForThePod":          copied,
	"TestEmptyCleanup":                 copied,
	"TestEmptyRefused":                 refused,
	"TestCopyMoves":                    played,
	"TestCopyTurnsBack":                played,
	"TestCopyComesBack":                played,
	"TestCopyCrash":                    played,
	"TestToyGate":                      seams,
	"TestToyCheck":                     seams,
	"TestToyKind":                      seams,
	"TestToyMethod":                    seams,
	"TestUnknownMethod":                refused,
	"TestEveryCaseHasItsGround":        "it moves nothing",
}

const (
	seams      = "it shows what one file can add: what kubelets do with the data, TestMove does, too"
	played     = "movers are played here, with real bytes; what kubelets do with volumes, TestMove shows"
	partsStop  = "it stops parts of a control plane one by one; nodes and API servers of kind are stopped by the suite of e2e/kind"
	inName     = "a driver that exists in name only: no kubelet could mount its volumes"
	copied     = "it is about what API servers store: the kubelets have no part in it"
	refused    = "nothing runs: it is refused before the first write"
	byOthers   = "it is about what others write and delete: the kubelets have no part in it"
	nextLife   = "what one Migration leaves to the next is kept by API servers alone: what they do with data, TestPartOfTheOrdinals and TestMigrateRollBackMigrateAgain do, too"
	endsJobs   = "the test ends the pods of the Jobs: their images are nowhere"
	byClock    = "it is about when something is stopped: the kubelets have no part in it"
	asksAPI    = "health gates ask API servers and a server of the test: the kubelets have no part in it"
	ownServers = "it needs API servers of its own, with other flags or an end of their own"
)

// TestEveryCaseHasItsGround: whoever adds a case says whether it runs on kind, or why not.
func TestEveryCaseHasItsGround(t *testing.T) { harness.CheckCases(t, onKind, embeddedOnly) }
