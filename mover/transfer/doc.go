// Package transfer makes one tree, or one block device, equal to another over a network, and proves that it is.
//
// The receiver sends requests and the sender answers (package wire). In one pass the receiver
//
//  1. requests the sender's list of entries, and compares it with its own, path by path;
//  2. removes what the sender does not have, creates what is missing, and requests content that differs:
//     small files by the hundred, large ones by ranges, with the digests of its own blocks;
//  3. writes metadata, those of a folder after the last change in it;
//  4. writes everything to the disk (Tree.Sync);
//  5. lets both sides read their content again, and compares row by row and root with root.
//
// In a warm pass the sender's application runs: files that vanish or change are left to the next pass. In the
// last pass they are an error. After a broken connection, the mover reconnects and repeats the unanswered
// requests. A receiver that is killed and restarted uses what is on its disk.
package transfer

import (
	"context"
	"errors"
	"net"
)

// Connector dials or accepts connections: link.Dialer or link.Listener.
type Connector interface {
	Connect(ctx context.Context) (net.Conn, error)
}

// ErrDiscard is the error for a failed destination disk: nothing that was written there can be trusted.
var ErrDiscard = errors.New("the volume must be discarded")

// ErrDifferent is the error for two sides that were read and are not equal.
var ErrDifferent = errors.New("the two sides differ")
