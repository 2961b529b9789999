package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// certificate is what the server shows who it is with; nil when it has none.
func certificate(cfg nodeConfig) (*tls.Config, error) {
	switch {
	case cfg.TLSCert == "" && cfg.TLSKey == "":
		return nil, nil
	case cfg.TLSCert == "" || cfg.TLSKey == "":
		return nil, &codeError{exitUnusable, errors.New("tls-cert and tls-key belong together")}
	}
	r := &renewable{cert: cfg.TLSCert, key: cfg.TLSKey, log: cfg.Log}
	if err := r.read(r.stamp()); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &tls.Config{GetCertificate: r.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
}

// renewable is a certificate in two files that somebody renews while the server
// runs: it is read again when they have changed.
type renewable struct {
	cert, key string
	log       *slog.Logger

	mu   sync.Mutex
	pair *tls.Certificate
	of   string // the files as they were when it was read
}

// get implements the field GetCertificate of tls.Config. Files that cannot be
// used, such as one new and one old, leave the certificate as it was.
func (r *renewable) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.stamp(); now != r.of {
		if err := r.read(now); err != nil {
			r.log.Error("the new certificate cannot be used; the one before stays", "error", err)
		}
	}
	return r.pair, nil
}

// read reads both files, which have a stamp, and notes the stamp also when they
// are of no use: they are tried again when they change again.
func (r *renewable) read(stamp string) error {
	r.of = stamp
	pair, err := tls.LoadX509KeyPair(r.cert, r.key)
	if err == nil {
		r.pair = &pair
	}
	return err
}

// stamp is another one when the files have changed.
func (r *renewable) stamp() (s string) {
	for _, path := range []string{r.cert, r.key} {
		if info, err := os.Stat(path); err == nil {
			s += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return s
}
