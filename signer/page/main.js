// The whole page: every flow.

import { bindFlow } from './bind.js';
import { freezeFlow, unfreezeFlow } from './freeze.js';
import { home } from './home.js';
import { limitsFlow } from './limits.js';
import { signFlow } from './sign.js';
import { begin } from './start.js';

begin({
  bind: (ui, { secret }, place, able) => bindFlow(ui, secret, place, able),
  sign: (ui, { secret, restore }, { link }, able) => signFlow(ui, secret, link, able, { restore }),
  freeze: (ui, { secret }) => freezeFlow(ui, secret),
  unfreeze: (ui, { secret }, place, able) => unfreezeFlow(ui, secret, place, able),
  limits: (ui, { secret }, place, able) => limitsFlow(ui, secret, place, able),
  home,
});
