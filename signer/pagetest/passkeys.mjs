// An authenticator without a device: Chromium's virtual one, with the PRF extension, for one tab.

const PASSKEYS = { protocol: 'ctap2', ctap2Version: 'ctap2_1', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, hasPrf: true };

/** Gives a tab an authenticator whose person agrees to everything at once, until told otherwise. `options` are those of CDP. */
export async function authenticator(tab, options = {}) {
  const cdp = await tab.context().newCDPSession(tab);
  await cdp.send('WebAuthn.enable');
  const add = async (more) => (await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { ...PASSKEYS, ...more } })).authenticatorId;
  let authenticatorId = await add(options);
  return {
    /** Its person is not recognised. It locks itself then: only another one in its place helps. */
    refuses: () => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }),
    /** Whether the person answers a prompt at all from now on. */
    answers: (enabled) => cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    /** The passkeys that it holds. */
    holds: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    loses: () => cdp.send('WebAuthn.clearCredentials', { authenticatorId }),
    /** Another one in its place, which knows nothing of its passkeys. */
    async replace(more = {}) {
      await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
      authenticatorId = await add(more);
    },
  };
}

/** From now on passkeys of this page tell their secret only when they are used, as many real ones do; Chromium's tells it at once. */
export const tellsOnlyWhenUsed = (tab) => tab.evaluate(() => {
  const { getClientExtensionResults } = PublicKeyCredential.prototype;
  PublicKeyCredential.prototype.getClientExtensionResults = function () {
    const all = getClientExtensionResults.call(this);
    return this.response instanceof AuthenticatorAttestationResponse ? { ...all, prf: { enabled: all.prf?.enabled } } : all;
  };
});

/** The person presses Cancel at the next prompt: it is not shown, as Chromium shows none here, and fails as Chromium's does. */
export const cancelsOnce = (tab) => tab.evaluate(() => {
  const { create, get } = CredentialsContainer.prototype;
  const cancel = async () => {
    Object.assign(CredentialsContainer.prototype, { create, get });
    throw new DOMException('', 'NotAllowedError');
  };
  Object.assign(CredentialsContainer.prototype, { create: cancel, get: cancel });
});
